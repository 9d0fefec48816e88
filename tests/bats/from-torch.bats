#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# python -m lockstep.from_torch: modules of PyTorch as model files.
# shellcheck disable=SC2154,SC2034 # output is set by helpers.bash, and TOOL read there
load helpers

NETS=$ROOT/tests/fixtures/nets.py
REFUSED=$ROOT/tests/fixtures/refused_nets.py

setup() {
    need_tool synth-cifar train-single evaluate
    need_torch
    has_modules numpy || skip "$PYTHON has no NumPy"
    [ -x "$ROOT/build/bin/train-single" ] || export PATH=$BIN:$PATH
    cd "$WORK" || return
}

from_torch() { with_torch "$ROOT/tests/python/from_torch.py" "$@"; }

# converts NAME LAYERS: translates the network, whose layers other than the plain ones are LAYERS; PyTorch's results are
# its own.
converts() {
    local out=$1
    succeeds from_torch "$NETS:$1" --input 3,17,17 --out "$out" --name net --check
    [[ $output == *"$out/models/net.yaml: "*' 10 classes'*$'\nthe same network' ]] ||
        fail "$output" "$(cat "$out/models/net.yaml")"
    local kinds
    kinds=$(sed -n 's/^- \([a-z_0-9]*\):.*/\1/p' "$out/models/net.yaml" | sort -u | tr '\n' ' ')
    [ "$kinds" = "$2 " ] || fail "the layers are $kinds"
}

@test "branches, functional forms, an auxiliary head: the same network, with a note" {
    converts Inception 'adaptive_avg_pool avg_pool batch_norm concat conv dropout flatten linear max_pool relu upsample'
    [[ $stderr == *"'in front' is 'in_front' here"*'the auxiliary outputs of training are left out'*'does not depend on them: aux, unused' ]] || fail "$stderr"
    grep -q '^- avg_pool: {name: avg_pool1, size: 3, stride: 2, padding: 1, count_include_pad: false}' Inception/models/net.yaml
}

@test "dense blocks, and logits with a factor: the same network" {
    converts Dense 'avg_pool batch_norm concat conv flatten linear max_pool relu scale'
}

@test "gates, depthwise convolutions, a skip at random: the same network" {
    converts Gates 'add batch_norm conv flatten global_avg_pool hard_swish linear multiply relu relu6 sigmoid silu stochastic_depth'
}

@test "channels that views split, join and shuffle: the same network" {
    converts Shuffle 'concat conv flatten global_avg_pool leaky_relu linear shuffle slice'
}

@test "the shortcut without weights, and a frozen tensor: the same network" {
    converts OptionA 'add avg_pool batch_norm conv flatten linear relu zero_pad'
    grep -q '^  conv1.weight: {trained_epochs: 0}$' OptionA/net.yaml
}

@test "linear layers for each position, and factors that are the module's own: the same network" {
    converts ConvNext 'add conv dropout flatten gelu global_avg_pool layer_norm linear stochastic_depth'
}

@test "a shifted path, and parts of the rows and columns: the same network" {
    converts Crops 'avg_pool concat conv flatten linear relu zero_pad'
}

@test "all norms, and layers without names of their own: the same network" {
    converts norms 'adaptive_avg_pool batch_norm conv dropout2d elu flatten gelu group_norm instance_norm layer_norm linear '\
'local_response_norm log_softmax max_pool mish upsample zero_pad'
}

@test "a convolution that gives the classes, and features that become an image: the same network" {
    converts ConvHead 'conv flatten global_avg_pool linear relu unflatten'
}

@test "functions of the module's own tensors are the layers that they compute: the same network" {
    converts Functional 'add avg_pool batch_norm conv flatten global_avg_pool group_norm hard_swish layer_norm linear multiply '\
'relu scale sigmoid unflatten zero_pad'
    [[ $stderr == *"begins with the module's own values"*"blur.weight"* ]] || fail "$stderr"
    grep -q '^initial_weights: {file: models/net.safetensors}$' Functional/net.yaml
    "$BIN/synth-cifar" -q --train 144 --test 8 --shape 3,17,17 --out data
    succeeds from_torch train "$NETS:Functional" data run
    [[ $output == *'All keys matched'* ]] || fail "$output"
}

@test "the largest value of each channel, of any image: the same network" {
    converts Largest 'add conv flatten global_avg_pool linear max_pool zero_pad'
}

@test "linear layers over positions, norms without weights, a part of the channels: the same network" {
    converts Mixer 'add conv flatten gelu global_avg_pool layer_norm linear shuffle unflatten'
    converts Plain 'batch_norm concat conv flatten global_avg_pool linear scale slice zero_pad'
    grep -q '^  "norm.\*": {trained_epochs: 0}$' Plain/net.yaml
}

@test "operations that are rarely written, and channels that are columns meanwhile: the same network" {
    converts Odds 'add concat conv flatten global_avg_pool linear max_pool multiply relu relu6 scale shuffle slice unflatten'
    converts Columns 'conv flatten global_avg_pool linear multiply relu shuffle unflatten'
}

@test "in place, through other names of the same values: the same network" {
    converts Shares 'add concat conv flatten global_avg_pool linear relu scale slice'
}

@test "dropout that never rests: a note, also with --check and from lockstep.train" {
    converts AlwaysDrops 'conv dropout flatten global_avg_pool linear relu'
    [[ $stderr == *"nets.py:"*"return F.dropout(super().forward(x), 0.25): dropout drops in evaluation, too; here it does not" ]] ||
        fail "$stderr"
    "$BIN/synth-cifar" -q --train 144 --test 8 --shape 3,17,17 --out data
    succeeds from_torch train "$NETS:AlwaysDrops" data run
    [[ $stderr == *UserWarning*"drops in evaluation, too"* ]] || fail "$stderr"
}

@test "tensors that no gradient reaches are frozen: the same network" {
    converts Extractor 'batch_norm conv flatten global_avg_pool linear relu'
    [[ $stderr == *'no gradient reaches them, so they are not trained: layers.*' ]] || fail "$stderr"
    grep -q '^  "layers.\*": {trained_epochs: 0}$' Extractor/net.yaml
    succeeds from_torch "$NETS:Frozen30" --input 3,17,17 --out many
    [ "$(grep -c 'trained_epochs: 0' many/frozen30.yaml)" -eq 20 ]
}

@test "forward that normalises its input: normalize of the experiment" {
    converts Pixels 'conv flatten global_avg_pool linear relu'
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    [[ $stderr == *'have pixels from 0 to 1; `normalize` of the experiment does it here' ]] || fail "$stderr"
    grep -q '^normalize: {mean: \[0.4, 0.5, 0.25\], std: \[0.25, 0.2, 0.5\]}$' Pixels/net.yaml
    converts Bytes 'conv flatten global_avg_pool linear relu'
    # shellcheck disable=SC2016
    [[ $stderr == *'have pixels from 0 to 255; `normalize` of the experiment does it here' ]] || fail "$stderr"
    grep -q '^normalize: {mean: \[0.5, 0.5, 0.5\], std: \[0.5, 0.5, 0.5\]}$' Bytes/net.yaml
    converts Half 'conv flatten global_avg_pool linear relu scale'
    [[ $stderr == *'the pixels are normalised here before forward scales them' ]] || fail "$stderr"
}

@test "modules as scripts for several devices have them: what is inside, and back" {
    converts 'wrapped()' 'batch_norm conv flatten global_avg_pool linear relu'
    grep -q '^sync_batch_norm: true$' 'wrapped()/net.yaml'
    "$BIN/synth-cifar" -q --train 144 --test 8 --shape 3,17,17 --out data
    succeeds from_torch train "$NETS:wrapped" data run
    [[ $output == *'All keys matched'* ]] || fail "$output"
}

@test "a small network is compared with PyTorch; another one is not written: exit code 4" {
    succeeds from_torch "$NETS:Relu" --input 3,17,17 --out .
    [[ $output == *$' 10 classes\nthe same network' ]] || fail "$output"
    run from_torch "$REFUSED:Late" --input 3,17,17 --out late
    [ "$status" -eq 4 ] || fail "exit code $status: $output"
    [[ $output == *'a step of SGD'*$'\nNOT the same network'*'nothing was written'* ]] || fail "$output"
    [ ! -e late ]
    succeeds from_torch "$REFUSED:Late" --input 3,17,17 --out late --no-check
    TOOL=from_torch fails_with 3 'a step of PyTorch fails: RuntimeError: .*modified by an inplace operation' \
        from_torch "$REFUSED:Unlearned" --input 3,17,17 --out unlearned --check
    [ ! -e unlearned ]
    [ -s late/late.yaml ]
    succeeds from_torch "$NETS:Relu" --input 3,1024,1024 --out large
    [[ $output != *network && $stderr == *'not compared with PyTorch'* ]] || fail "$output$stderr"
}

@test "a trained model goes back into its module, with strict=True" {
    succeeds from_torch "$NETS:Dense" --input 3,32,32 --out .
    "$BIN/synth-cifar" -q --train 144 --test 8 --out data
    succeeds "$BIN/train-single" -q --experiment dense.yaml --set dataset=synthetic --set epochs=1 --init models/dense.safetensors \
        --train data/train.st.zst --out run
    succeeds from_torch strict "$NETS:Dense" run/model.st.zst
    [[ $output == *'All keys matched'* ]] || fail "$output"
    succeeds from_torch train "$NETS:ConvNext" data scaled
    [[ $output == *'All keys matched'* ]] || fail "$output"
    succeeds from_torch train "$NETS:Inception" data mine
    [[ $output == *'All keys matched'*' 2.'* ]] || fail "$output"
}

# each_is_refused: of lines "NETWORK|LINE|WHY", each network of $REFUSED is refused with that reason, after that line of
# the source unless it is empty, and leaves nothing.
each_is_refused() {
    local name line why
    while IFS='|' read -r name line why; do
        TOOL=from_torch fails_with 3 "$why" from_torch "$REFUSED:$name" --input 3,17,17 --out "$name"
        [ -z "$line" ] || [[ $stderr == "from_torch: "*nets.py:*": $line"* ]] || fail "$name: $stderr"
        nothing_in "$name"
    done
}

@test "what no layer does is refused with the line of the source" {
    each_is_refused <<'END'
Transposed|return self.head(|layers.1 .ConvTranspose2d.: no layer does this; the nearest is upsample and a convolution
Dilated|return self.head(|layers.1 .Conv2d.: dilation is 1 here
Reflected|return F.pad(|padding is with zeros here
Twice|return self.layers[1](|layers.1 .Conv2d.: the layer is used twice
OwnTensor|return x * self.factor|'factor' is no number, and has not one value for each channel
Positions|return x + self.positions|'positions' is no number, and has not one value for each channel
ClassToken|tokens = torch.cat(|no layer holds values of its own, as a class token
Standardised|return F.conv2d(|its weight is computed from other tensors
Constant|return x + 1|adding a constant is not here
Backward|return F.relu(x.flip|no layer does this
Samples|return F.relu(x[|values move between samples
Random||forward draws random numbers by itself
Softmax|return F.softmax(|cross entropy contains it
Attention|return (tokens @|no layer multiplies two values of the network as matrices, as attention does
Transposes|return self.head(|a matrix of a linear layer has its outputs first here: x @ weight.t()
Lazy||layers.1 .LazyConv2d.: it has no sizes yet: run the module once before
OneSlope|return self.head(|layers.1 .PReLU.: a slope for all channels together is not here
Unlike|return F.adaptive_max_pool2d(|the windows have unlike sizes
Indices|return F.max_pool2d(|the places of the largest values are no output here
Raises|return x.nothing|forward fails: AttributeError: .*nothing
RaisesEarly|super().__init__(nn.Conv2d(4, 4 / 2|nets.py:RaisesEarly' fails: TypeError
Cumulative|return self.head(|momentum=None is not here
Tied|return self.head(|layers.2 .Conv2d.: its weight is also that of 'layers.1'
WeightNorm||layers.1 .Conv2d.: its weight is computed from other tensors
compiled||a compiled module shows none of its operations
Absent||name 'Absent' is not defined
Pool1d|Pool1d = |only the mean of all positions is here
Gate|Gate = |the second input of a product has the first one's shape, or one value per channel
Batch|Batch = |the samples of a batch and their values share an axis
Rows|Rows = |a layer here takes an image, or a vector of features
Crossed|Crossed = |it moves values as no layer does
Limits|Limits = |the lower limit is 0 here
Mirrored|Mirrored = |it orders channels as no shuffle does
Gaps|Gaps = |it takes some rows or columns that no stride gives
Zeros|Zeros = |it puts zeros between values
Shifted|Shifted = |adding a constant to zeros around an image is not here
Mean|Mean = |a mean is over all rows and columns here
Sum|Sum = |a sum is over all rows and columns here
Skips|Skips = |a factor is a number other than 0; before, forward draws random numbers
Biggest|Biggest = |max: no layer does this
Subtracts|return x - |it subtracts a tensor that is trained; add it
Divides|return x / |only constants divide; a tensor that is trained can be a factor
Real|Real = |real: no layer does this
Picture||of the shape .4, 15, 15. for a sample; expected one value per class
Nothing||the network returns no tensor that depends on its input
Scalar|return super|a mean is over all rows and columns here
Locked||the module cannot be copied .copy.deepcopy.: TypeError
ListOf|x = layer(x)|its weight is no parameter of the network, .*: modules in a plain list
Blanks|return self.a_b(|'a_b' is already the name of another layer: names differ here by more than blanks
END
}

@test "what forward does besides its layers is refused with the line of the source" {
    each_is_refused <<'END'
Moody|return F.relu(x) if self.training|forward is another one in evaluation
Rescaled|return x if self.training|forward is another one in evaluation
Fickle|return F.relu(x) if Fickle|forward does something else when it runs again
FrozenNorm|return self.head(|layers.1 .BatchNorm2d.: it is in evaluation mode while the network trains
HalfStopped|return self.head(|layers.0.weight: a gradient reaches it on one way, and is stopped on another
StraightThrough|return F.relu(x)|a torch.autograd.Function has a gradient of its own
OtherPixels|return super().forward(|forward is another one in evaluation
Autocast|return self.head(|it computes in bfloat16
Hooked||head .Linear.: a hook of its own changes or sees its gradient
HalfPrecision|return F.relu(x.half())|arithmetic is in float32 here
Asks|return F.relu(x) if x.mean()|forward goes on by a value of the network
Reads|return F.relu(x)|forward goes on by a value of the network
Total|return F.relu(x) - x.mean()|a mean is over all rows and columns here
ThroughView|return self.head(|its input was changed in place through another view of it
Contrast|return super().forward(|the input's normalisation is .normalize:
TwoScales|return self.head(|the input is read with another scale or shift elsewhere
OddDepth|return self.skip(x)|it does something else than to drop whole samples
MixedSync||some of its batch norms are SyncBatchNorm and some are not
Binary||one output: the loss here is cross entropy, which has an output for each of the two classes
Probabilities|return torch.sigmoid(|sigmoid: cross entropy is the loss here, and takes the logits
END
}

@test "what the tools refuse has the line of the source, too, and leaves nothing" {
    each_is_refused <<'END'
Deep|x = F.relu(x)|relu1000: a model may have at most 1000 layers
WideWindow|return self.head(|layers.2: 'size': expected an integer between 1 and 64, got '70'
LongName|return getattr(|'name': expected 1 to 127 letters
Alternating||61 patterns say which of its tensors are not trained
END
    # Of the file as a whole: with the place that it would have.
    echo 'from torch.nn import *
net = Sequential(Conv2d(20, 4, 3), AdaptiveAvgPool2d(1), Flatten(), Linear(4, 10))' >net.py
    TOOL=from_torch fails_with 3 "out/models/net.yaml:4:9: 'input'" from_torch net.py:net --input 20,17,17 --out out
    nothing_in out
}

@test "from_torch: command lines, and nothing that exists is touched" {
    TOOL=from_torch
    fails_with 2 "no file 'absent.py'" from_torch absent.py:Net --input 3,17,17
    fails_with 2 'expected FILE.py:NAME' from_torch "$NETS" --input 3,17,17
    fails_with 2 'makes no torch.nn.Module, but a int' from_torch "$REFUSED:number" --input 3,17,17
    echo 'import nothing_like_this' >net.py
    fails_with 3 "net.py:1: import nothing_like_this: 'net.py:Net' fails: ModuleNotFoundError" from_torch net.py:Net --input 3,17,17
    echo 'x = = 3' >net.py
    fails_with 3 "net.py:1: 'net.py:Net' fails: SyntaxError" from_torch net.py:Net --input 3,17,17
    run from_torch "$NETS:OptionA" --input 3,17
    [ "$status" -eq 2 ]
    succeeds from_torch "$NETS:OptionA" --input 3,32,32 --out . --name mine
    for file in models/mine.yaml models/mine.safetensors mine.yaml mine-ddp4.yaml; do [ -s "$file" ]; done
    grep -q '^dataset: cifar10$' mine.yaml
    cp -r models before
    fails_with 2 "'./models/mine.yaml' exists: --force replaces it, another --name or --out leaves it" \
        from_torch "$NETS:Dense" --input 3,32,32 --out . --name mine
    diff -r models before
    mkdir other.yaml.new~
    TOOL=from_torch fails_with 1 'other.yaml.new~' from_torch "$NETS:OptionA" --input 3,32,32 --out . --name other --no-check
    [ "$(echo models/* *.yaml)" = "models/mine.safetensors models/mine.yaml mine-ddp4.yaml mine.yaml" ]
    succeeds from_torch "$NETS:Dense" --input 3,17,17 --out . --dataset own
    grep -q '^dataset: own$' dense.yaml
}

@test "--force: the network anew, the recipe as it was edited, and an older run as it was" {
    cat >net.py <<'END'
from nets import OptionA, Sync
END
    cp "$NETS" nets.py
    make_run() { succeeds "$BIN/pipeline" experiment EXP=./net.yaml DATA=data ARTIFACTS=artifacts; }
    "$BIN/synth-cifar" -q --train 144 --test 16 --out data
    succeeds from_torch net.py:OptionA --input 3,32,32 --out . --name net --dataset synthetic
    sed -i 's/^epochs: 10$/epochs: 1/' net.yaml
    make_run
    local old
    old=$(readlink -f artifacts/net-data=data/seed-42)
    cp -r "$old" before
    succeeds from_torch net.py:Sync --input 3,32,32 --out . --name net --force
    grep -q '^epochs: 1$' net.yaml
    grep -q '^dataset: synthetic$' net.yaml
    grep -q '^sync_batch_norm: true$' net.yaml
    ! grep -q 'trained_epochs' net.yaml || fail "$(cat net.yaml)"
    make_run
    [ "$(readlink -f artifacts/net-data=data/seed-42)" != "$old" ]
    diff -r "$old" before
    # What is refused replaces nothing.
    cp -r models before-models
    cp net.yaml before.yaml
    TOOL=from_torch fails_with 3 'no layer does this' from_torch "$REFUSED:Softmax" --input 3,32,32 --out . --name net --force
    run from_torch "$REFUSED:Late" --input 3,32,32 --out . --name net --force
    [ "$status" -eq 4 ] || fail "exit code $status: $output"
    diff -r models before-models
    cmp net.yaml before.yaml
}

@test "every line of help(lockstep), and of the page on the wheel, does what it says" {
    cp "$NETS" nets.py
    "$BIN/synth-cifar" -q --train 144 --test 16 --out data
    succeeds from_torch nets.py:OptionA --input 3,32,32 --out . --name ddp4 --dataset synthetic --no-check
    sed -i 's/^epochs: 10$/epochs: 1/' ddp4.yaml
    succeeds "$BIN/pipeline" experiment EXP=./ddp4.yaml DATA=data ARTIFACTS=artifacts
    ln -s ddp4-data=data artifacts/ddp4
    ln -s ddp4/report artifacts/compare-single-ddp4
    ln -s artifacts/ddp4/seed-42/train/model.st.zst data/test.st.zst .
    cat >examples.py <<'END'
import re, sys
sys.path[:0] = [sys.argv[1] + "/python", "."]
import torch, lockstep, nets

def execute(lines, names):
    for line in lines:
        try:
            code = compile(line, line, "eval")
        except SyntaxError:
            exec(line, names)
        else:
            names["results"].append(eval(code, names))

names = {"lockstep": lockstep, "torch": torch, "net": nets.OptionA(), "results": []}
execute(re.findall("^    (\\S.*)", lockstep.__doc__, re.M), names)
page = open(sys.argv[1] + "/docs/installing.md").read().partition("```python\n")[2].partition("```")[0]
execute(page.splitlines(), names)
rows = names["runs"] if isinstance(names["runs"], list) else names["runs"].to_dict("records")
assert {"accuracy", "seconds_per_epoch", "executions", "path", "optimizer.lr"} <= set(rows[0]), rows
assert isinstance(names["figures"]["value"][0], float) and "runs" in names["facts"], names["facts"]
print(len(names["results"]), "values")
END
    succeeds with_torch "$WORK/examples.py" "$ROOT"
    [ "$output" = '13 values' ] || fail "$output"
}

@test "without PyTorch: how to install it, or why it cannot be imported" {
    mkdir absent broken
    echo 'raise ModuleNotFoundError("No module named '"'torch'"'", name="torch")' >absent/torch.py
    echo 'raise ImportError("libcudart.so.12: cannot open shared object file")' >broken/torch.py
    TOOL=from_torch fails_with 1 'PyTorch is not installed for .*pip install torch.*apt install python3-torch' \
        env PYTHONPATH="absent:$ROOT/python" "$PYTHON" -m lockstep.from_torch net.py:Net --input 3,17,17
    TOOL=from_torch fails_with 1 'PyTorch cannot be imported by .*: libcudart.so.12: cannot open' \
        env PYTHONPATH="broken:$ROOT/python" "$PYTHON" -m lockstep.from_torch net.py:Net --input 3,17,17
}

@test "a folder of the user's that is called torch has lines like any other" {
    mkdir -p torch/importlib
    cp "$NETS" "$REFUSED" torch/importlib
    TOOL=from_torch fails_with 3 'refused_nets.py:[0-9]*: return x . 1: adding a constant is not here' \
        from_torch torch/importlib/refused_nets.py:Constant --input 3,17,17
}

@test "torchvision's networks: the same networks" {
    has_modules torchvision || skip "$PYTHON has no torchvision"
    local name
    for name in resnet18 mobilenet_v2 shufflenet_v2_x0_5 squeezenet1_1; do
        succeeds from_torch "torchvision.models:$name(num_classes=10)" --input 3,32,32 --out "$name" --check
        [[ $output == *$'\nthe same network' ]] || fail "$name: $output"
    done
}
