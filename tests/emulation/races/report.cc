// SPDX-License-Identifier: MIT
// Names and reports. Instructions become lines with addr2line, of the binutils.
#include "report.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "order.h"

namespace emulation {
namespace races {

// ---- Places ----

struct module {
    const char *file;
    uintptr_t begin; // what addr2line counts from
};

static const module &this_module() {
    static const module m = [] {
        Dl_info info;
        if (!dladdr((void *)this_module, &info)) abort();
        const bool fixed = ((const Elf64_Ehdr *)info.dli_fbase)->e_type == ET_EXEC;
        const char *file = realpath(info.dli_fname, nullptr);
        return module{file ? file : "/proc/self/exe", fixed ? 0 : (uintptr_t)info.dli_fbase};
    }();
    return m;
}

uint32_t place_of(const void *instruction) {
    static const uintptr_t begin = this_module().begin;
    return (uint32_t)((uintptr_t)instruction - begin);
}

// A file's name as seen from the current folder.
static std::string shortened(std::string text) {
    char folder[4096];
    text = text.substr(0, text.find_first_of(" \n"));
    if (!getcwd(folder, sizeof folder)) return text;
    const std::string here = std::string(folder) + "/";
    return text.compare(0, here.size(), here) == 0 ? text.substr(here.size()) : text;
}

static bool is_of_emulation(const std::string &line) {
    return line.find("tests/emulation/") != std::string::npos &&
           line.find("test_races.cc") == std::string::npos;
}

// The line of an instruction, then those of the calls that were inlined there. Empty: it is the
// emulation's, or unknown.
static std::string name_of(uint32_t place) {
    static std::map<uint32_t, std::string> names;
    const auto found = names.find(place);
    if (found != names.end()) return found->second;
    const module &m = this_module();
    std::string &name = names[place];
    char hex[32], line[1024];
    snprintf(hex, sizeof hex, "0x%x", place - 1); // a return address: the call is before it
    const std::string command =
        "addr2line -i -e '" + std::string(m.file) + "' " + hex + " 2>/dev/null";
    FILE *lines = popen(command.c_str(), "r");
    while (lines && fgets(line, sizeof line, lines)) {
        const std::string text = shortened(line);
        if (text.empty() || text[0] == '?' || is_of_emulation(text)) continue;
        name += name.empty() ? text : ", inlined at " + text;
    }
    if (lines) (void)pclose(lines);
    return name;
}

// ---- Work ----

struct deed {
    std::string name; // empty: a copy or the like
    dim3 grid, block;
    std::vector<uint32_t> calls; // the instructions that submitted it, from inside to outside
};

static std::vector<deed> &deeds() {
    static auto *const all = new std::vector<deed>{{"the host", {}, {}, {}}};
    return *all;
}

static uint32_t number_of(const std::string &key, deed d) {
    static auto *const numbers = new std::map<std::string, uint32_t>;
    const auto [at, fresh] = numbers->insert({key, (uint32_t)deeds().size()});
    if (fresh) deeds().push_back(std::move(d));
    return at->second;
}

uint32_t this_submission() {
    enum { DEPTH = 12 };
    void *calls[DEPTH];
    const int depth = backtrace(calls, DEPTH);
    deed d;
    for (int i = 1; i < depth; i++) d.calls.push_back(place_of(calls[i]));
    return number_of(std::string((const char *)(calls + 1), (size_t)(depth - 1) * sizeof *calls),
                     d);
}

static FILE *open_file() {
    return open_list("LOCKSTEP_EMULATED_RACES");
}

static void note_run(const std::string &name, const char *file) {
    FILE *list = open_file();
    if (!list) return;
    fprintf(list, "ran %s %s\n", file, name.c_str());
    fclose(list);
}

uint32_t this_kernel(const char *name, const char *file, dim3 grid, dim3 block) {
    const std::string sizes = std::to_string(grid.x) + " " + std::to_string(grid.y) + " " +
                              std::to_string(block.x) + " " + std::to_string(block.y);
    const std::string key = std::string(name) + "\n" + file + "\n" + sizes;
    const size_t before = deeds().size();
    const uint32_t number = number_of(key, {std::string("kernel ") + name, grid, block, {}});
    if (deeds().size() > before) note_run(name, file);
    return number;
}

// The first line outside the emulation from which the work was submitted.
static std::string caller(const deed &d) {
    for (const uint32_t place : d.calls) {
        const std::string name = name_of(place);
        if (!name.empty()) return name;
    }
    return "an unknown place";
}

// ---- Accesses ----

void check_stamp(uint32_t stamp) {
    if (stamp < 1u << 20) return;
    fputs("emulation: a thread has too many barriers for the search for races\n", stderr);
    abort();
}

static std::string three(dim3 size, uint32_t number) {
    const uint32_t x = number % size.x, y = number / size.x % size.y, z = number / size.x / size.y;
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

static std::string name_of(const access &a, bool writes) {
    const deed &d = deeds()[task_of(a.task).what];
    const std::string line = name_of(a.place);
    std::string text = a.atomic ? "atomic operation" : writes ? "write" : "read";
    if (!line.empty()) text += " at " + line;
    if (d.name.empty()) return text + " by work submitted at " + caller(d);
    text += " by " + d.name;
    if (d.name != "the host")
        text += ", block " + three(d.grid, a.block) + ", thread " + three(d.block, a.thread);
    return text;
}

// ---- Reports ----

static struct {
    bool kept = false; // for take_reports
    std::vector<std::string> texts;
} reports;

std::vector<std::string> take_reports() {
    reports.kept = true;
    return std::exchange(reports.texts, {});
}

static void publish(const std::string &text) {
    if (reports.kept) {
        reports.texts.push_back(text);
        return;
    }
    FILE *list = open_file();
    fputs(text.c_str(), list ? list : stderr);
    if (list) fclose(list);
}

void report(const finding &f) {
    static std::set<std::pair<uint32_t, uint32_t>> known;
    const uint32_t before = f.before->place, after = f.after->place;
    if (!reports.kept && !known.insert({before, after}).second) return;
    publish(std::string("race in ") + (f.shared ? "a __shared__ variable" : "memory") +
            ": nothing orders\n    the " + name_of(*f.before, f.before_writes) + "\n    and the " +
            name_of(*f.after, f.after_writes) + "\n");
}

} // namespace races
} // namespace emulation
