// SPDX-License-Identifier: MIT
// The order of pieces of work: vector clocks of lines.
#include "order.h"

#include <algorithm>

#include "report.h"

namespace emulation {
namespace races {

struct sequence {
    uint32_t line = 0, last = 0; // its number, and that of its last piece
    clock end;                   // after that piece
    bool kernel = false;         // it was one
};

// ---- Clocks ----

void clock::set(uint32_t line, uint32_t piece) {
    if (line >= at.size()) at.resize(line + 1);
    at[line] = piece;
}

void clock::join(const clock &other) {
    if (other.at.size() > at.size()) at.resize(other.at.size());
    for (size_t i = 0; i < other.at.size(); i++) at[i] = std::max(at[i], other.at[i]);
}

// ---- Tasks ----

static std::vector<task> &tasks() {
    static auto *const all = new std::vector<task>(1); // never freed: host code may outlive it
    return *all;
}

static uint32_t new_task(uint32_t line, uint32_t number) {
    tasks().push_back({line, number, THE_HOST});
    return (uint32_t)(tasks().size() - 1);
}

const task &task_of(uint32_t number) {
    return tasks()[number];
}

void describe(uint32_t what) {
    tasks()[current()->task].what = what;
}

// ---- Lines ----

// Line 0 is the host's. A line that is not needed any more goes to the next one that needs one,
// which follows it then.
static std::vector<sequence *> &unused() {
    static auto *const all = new std::vector<sequence *>;
    return *all;
}

static timeline new_line() {
    static uint32_t lines = 1;
    sequence *s;
    if (unused().empty()) {
        s = new sequence;
        s->line = lines++;
    } else {
        s = unused().back();
        unused().pop_back();
    }
    return timeline(s, [](sequence *done) { unused().push_back(done); });
}

// ---- The host ----

running host;
static thread_local running *running_here __attribute__((tls_model("initial-exec"))) = &host;

running *current() {
    return running_here;
}

static void next_of_host() {
    host.number++;
    host.now.set(0, host.number);
    host.task = 0; // one is made for the next access
}

uint32_t current_task() {
    running *const r = running_here;
    if (r->task == 0) r->task = new_task(r->line, r->number);
    return r->task;
}

moment host_now() {
    if (running_here != &host) return here();
    if (host.now.at.empty()) host.now.set(0, host.number);
    const auto before = std::make_shared<const clock>(host.now);
    next_of_host();
    return before;
}

void host_follows(const moment &before) {
    if (before && running_here == &host) host.now.join(*before);
}

moment end_of(const timeline &l) {
    return l ? std::make_shared<const clock>(l->end) : nullptr;
}

void line_follows(timeline *l, const moment &before) {
    if (!*l) *l = new_line();
    if (before) (*l)->end.join(*before);
}

// ---- Pieces ----

// The piece becomes the next one of its line.
static void put_on(running *r, sequence *on) {
    r->on = on;
    r->line = on->line;
    r->number = ++on->last;
    r->task = new_task(r->line, r->number);
}

static void take_off(running *r) {
    r->on->end = r->now;
    r->on->kernel = r->kernel;
}

piece::piece(timeline *on) : before_(running_here) {
    if (!*on) *on = new_line();
    auto *const r = new running;
    put_on(r, on->get());
    r->now = r->early = r->on->end;
    if (r->on->kernel) r->early.set(r->line, r->number - 2);
    r->now.set(r->line, r->number);
    running_here = r;
}

piece::~piece() {
    running *const r = running_here;
    take_off(r);
    running_here = (running *)before_;
    delete r;
}

moment here() {
    return std::make_shared<const clock>(running_here->now);
}

void follow(const moment &before) {
    if (!before) return;
    running_here->now.join(*before);
    running_here->early.join(*before);
}

work after_host(work what) {
    return [what = std::move(what), before = host_now(), place = this_submission()] {
        describe(place);
        follow(before);
        return what();
    };
}

// ---- Graphs ----

struct branches {
    std::vector<timeline> lines;
};

struct node_end {
    moment now;
    uint32_t line = 0, number = 0;
    bool kernel = false;
};

struct graph_run {
    std::shared_ptr<branches> of;
    std::vector<node_end> ends; // of the nodes
    std::vector<size_t> branch; // of the nodes; NONE: not chosen
    std::vector<size_t> last;   // node of each branch
    static constexpr size_t NONE = SIZE_MAX;
};

std::shared_ptr<branches> new_branches() {
    return std::make_shared<branches>();
}

std::shared_ptr<graph_run> begin_graph(const std::shared_ptr<branches> &of, size_t nodes) {
    const auto run = std::make_shared<graph_run>();
    run->of = of;
    run->ends.resize(nodes);
    run->branch.assign(nodes, graph_run::NONE);
    run->last.assign(of->lines.size(), graph_run::NONE);
    return run;
}

// Continues the branch of a node that it follows, if that is the branch's last; else takes one that
// this run has not used.
static size_t choose_branch(graph_run *run, const std::vector<size_t> &after) {
    for (const size_t before : after)
        if (run->last[run->branch[before]] == before) return run->branch[before];
    const auto free = std::find(run->last.begin(), run->last.end(), graph_run::NONE);
    if (free != run->last.end()) return (size_t)(free - run->last.begin());
    run->last.push_back(graph_run::NONE);
    if (run->last.size() > run->of->lines.size()) run->of->lines.push_back(new_line());
    return run->last.size() - 1;
}

// A kernel may start early only with respect to kernels that it follows directly.
static void follow_node(running *r, const node_end &before) {
    r->now.join(*before.now);
    clock start = *before.now;
    if (before.kernel) start.set(before.line, before.number - 1);
    r->early.join(start);
}

cudaError_t run_node(graph_run *run, size_t i, const std::vector<size_t> &after, const work &what) {
    running *const launch = running_here;
    running r;
    if (run->branch[i] == graph_run::NONE) {
        run->branch[i] = choose_branch(run, after);
        if (run->last[run->branch[i]] == graph_run::NONE)
            r.now = r.early = run->of->lines[run->branch[i]]->end; // of the graph's last launch
        run->last[run->branch[i]] = i;
    }
    put_on(&r, run->of->lines[run->branch[i]].get());
    if (after.empty()) {
        r.now.join(launch->now);
        r.early.join(launch->now);
    }
    for (const size_t before : after) follow_node(&r, run->ends[before]);
    r.now.set(r.line, r.number);
    running_here = &r;
    const cudaError_t result = what();
    running_here = launch;
    take_off(&r);
    run->ends[i] = {std::make_shared<const clock>(r.now), r.line, r.number, r.kernel};
    return result;
}

void end_graph(graph_run *run) {
    for (const node_end &end : run->ends) follow(end.now);
}

} // namespace races
} // namespace emulation
