#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# python -m lockstep.from_torch: modules of PyTorch as model files.
# shellcheck disable=SC2154,SC2034 # output is set by helpers.bash, and TOOL read there
load helpers

NETS=$ROOT/tests/fixtures/nets.py

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

@test "--check finds a network that is another one in evaluation: exit code 4" {
    run from_torch "$NETS:Moody" --input 3,17,17 --out . --check
    [ "$status" -eq 4 ] || fail "exit code $status: $output"
    [[ $output == *$'\nNOT the same network' ]] || fail "$output"
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

@test "what no layer does is refused with the line of the source" {
    local name line why
    while IFS='|' read -r name line why; do
        TOOL=from_torch fails_with 3 "$why" from_torch "$NETS:$name" --input 3,17,17 --out "$name"
        [ -z "$line" ] || [[ $stderr == "from_torch: nets.py:"*": $line"* ]] || fail "$name: $stderr"
        nothing_in "$name"
    done <<'END'
Transposed|return self.head(|layers.1 .ConvTranspose2d.: no layer does this; the nearest is upsample and a convolution
Dilated|return self.head(|layers.1 .Conv2d.: dilation is 1 here
Reflected|return F.pad(|padding is with zeros here
Twice|return self.layers[1](|layers.1 .Conv2d.: the layer is used twice
OwnTensor|return x * self.factor|a factor is a number, or a parameter with one value per channel
OwnSum|return x + self.shift|a tensor of the module's own
Constant|return x + 1|adding a constant is not here
Backward|return F.relu(x.flip|no layer does this
Samples|return F.relu(x[|values move between samples
Random||forward draws random numbers by itself
Softmax|return F.softmax(|cross entropy contains it
Raises|return x.nothing|forward fails: AttributeError: .*nothing
RaisesEarly|super().__init__(nn.Conv2d(4, 4 / 2|nets.py:RaisesEarly' fails: TypeError
Cumulative|return self.head(|momentum=None is not here
Tied|return self.head(|layers.2 .Conv2d.: its weight is also that of 'layers.1'
WeightNorm||layers.1 .Conv2d.: its weight is computed from other tensors
Columns|return self.rows(|a linear layer takes a vector, of a sample or of each position
compiled||a compiled module shows none of its operations
Absent||name 'Absent' is not defined
END
}

@test "the largest value of each channel, of any image: the same network" {
    converts Largest 'add conv flatten global_avg_pool linear max_pool zero_pad'
}

@test "what the tools refuse has the line of the source, too" {
    TOOL=from_torch fails_with 3 'nets.py:[0-9]*: x = F.relu.x.: relu1000: a model may have at most 1000 layers' \
        from_torch "$NETS:Deep" --input 3,17,17 --out deep
    TOOL=from_torch fails_with 3 "nets.py:[0-9]*: return self.head.*layers.2: 'size': expected an integer between 1 and 64" \
        from_torch "$NETS:WideWindow" --input 3,17,17 --out wide
}

@test "from_torch: command lines, and nothing that exists is touched" {
    TOOL=from_torch
    fails_with 2 "no file 'absent.py'" from_torch absent.py:Net --input 3,17,17
    fails_with 2 'expected FILE.py:NAME' from_torch "$NETS" --input 3,17,17
    fails_with 2 'makes no torch.nn.Module, but a int' from_torch "$NETS:number" --input 3,17,17
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
    fails_with 2 "'./models/mine.yaml' exists: give another --name or --out" \
        from_torch "$NETS:Dense" --input 3,32,32 --out . --name mine
    diff -r models before
    succeeds from_torch "$NETS:Dense" --input 3,17,17 --out . --dataset own
    grep -q '^dataset: own$' dense.yaml
}

@test "a folder of the user's that is called torch has lines like any other" {
    mkdir -p torch/importlib
    cp "$NETS" torch/importlib/nets.py
    TOOL=from_torch fails_with 3 'nets.py:[0-9]*: return x . 1: ' from_torch torch/importlib/nets.py:Constant --input 3,17,17
}

@test "torchvision's networks: the same networks" {
    has_modules torchvision || skip "$PYTHON has no torchvision"
    local name
    for name in resnet18 mobilenet_v2 shufflenet_v2_x0_5 squeezenet1_1; do
        succeeds from_torch "torchvision.models:$name(num_classes=10)" --input 3,32,32 --out "$name" --check
        [[ $output == *$'\nthe same network' ]] || fail "$name: $output"
    done
}
