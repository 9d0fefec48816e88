// fetch-mnist - MNIST or Fashion-MNIST, from IDX files to tensor files.
#include "data/source/fetch_tool.h"
#include "data/source/mnist.h"

static const char NOTES[] =
    "--from is a folder that holds the four IDX files, each as it is or as .gz, or the URL under\n"
    "which the .gz files lie. It may be given several times: the sources are tried in order.\n"
    "Without it the addresses of --mirrors are: of the file in LOCKSTEP_MIRRORS, or the one that\n"
    "came with the tools. A proxy is taken from the environment (https_proxy). MNIST is checked\n"
    "by the SHA-256 of the uncompressed files; Fashion-MNIST by that of the published .gz files,\n"
    "which are read first, and uncompressed files of it by size and structure only, which is said\n"
    "as a warning and in the manifest. In torchvision's folder the files are found in MNIST/raw\n"
    "and FashionMNIST/raw.\n"
    "\n"
    "Examples:\n"
    "  lockstep fetch-mnist --out artifacts/data/mnist\n"
    "  lockstep fetch-mnist --dataset fashion-mnist --from ~/fashion --split test --out - \\\n"
    "      > test.st.zst\n"
    "\n"
    "Exit codes: 1 the network or the disk failed, 2 usage, 3 a source or file was refused.\n";

int main(int argc, char **argv) {
    const fetch_tool tool = {
        .name = "fetch-mnist",
        .usage = "[--dataset mnist|fashion-mnist] [--from SOURCE]... --out DIR\n"
                 "[--dataset mnist|fashion-mnist] [--from SOURCE]... --split train|test --out -",
        .notes = NOTES,
        .dataset = "mnist",
        .datasets = "mnist or fashion-mnist",
        .dataset_help = "mnist (default) or fashion-mnist",
        .from_help = "a folder, or a URL under which the files lie",
        .find = mnist_find,
        .read = mnist_read,
    };
    return fetch_tool_main(&tool, argc, argv);
}
