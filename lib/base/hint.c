// SPDX-License-Identifier: MIT
#include "base/hint.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PLAIN_BYTES = 64, MOST_OF_GROUP = 32 };

// ---- The words of others ----

// A row counts where `here` is one of the known words: so one table serves every place.
typedef struct row {
    const char *theirs; // plain words, separated by blanks; WORD* has any end
    const char *here;
    const char *note; // may be NULL in `same`
} row;

#define ALL_DEVICES                                                               \
    "It counts the samples of all devices together; the batch_size of PyTorch's " \
    "DistributedDataParallel is that of one device"
#define ACTIVATION  "another activation, which is not here"
#define OPTIMIZER   "another optimizer, which is not here"
#define SCHEDULE    "another schedule, which is not here"
#define AUGMENT     "another augmentation, which is not here"
#define EVERY_EPOCH "not here: every epoch is reported; the train tools have -v and -q"
#define INIT        "other initial values, which are not here"
#define IN_LOSS                                                                             \
    "the loss includes it, so a model ends with the layer before it. Cross entropy of the " \
    "outputs of a softmax takes it twice: that flattens the gradients, and the loss of K "  \
    "classes stays above log(1 + (K - 1) / e), 1.46 for 10"

// Theirs means ours.
static const row same[] = {
    // Layers
    {"dense fullyconnected fc", "linear", NULL},
    {"convolution", "conv", NULL},
    {"batchnormalization batchnorm1d bn", "batch_norm", NULL},
    {"gn groupnormalization", "group_norm", NULL},
    {"instancenormalization", "instance_norm", NULL},
    {"ln layernormalization", "layer_norm", NULL},
    {"lrn localresponsenormalization crossmaplrn2d", "local_response_norm", NULL},
    {"averagepool* meanpool*", "avg_pool", NULL},
    {"maxpooling*", "max_pool", NULL},
    {"adaptiveavg* adaptiveaverage*", "adaptive_avg_pool", NULL},
    {"spatialdropout* channeldropout", "dropout2d", NULL},
    {"droppath", "stochastic_depth", NULL},
    {"globalavg* globalaverage* gap", "global_avg_pool", NULL},
    {"pad padding zeropad* constantpad*", "zero_pad", NULL},
    {"upsampl* interpolate", "upsample", "It repeats each value; other modes are not here"},
    {"skip skipconnection shortcut basicblock resblock residualblock resnetblock", "residual",
     NULL},
    {"sum plus", "add", NULL},
    {"mul product times", "multiply", NULL},
    {"cat concatenate concatenation concatlayer skipconcat", "concat", NULL},
    {"channelshuffle", "shuffle", NULL},
    {"narrow split chunk", "slice", "It is one range of the channels: [first, end]"},
    {"view reshape", "flatten", NULL},
    {"swish", "silu", NULL},
    {"lrelu", "leaky_relu", NULL},
    {"hswish", "hard_swish", NULL},
    {"hsigmoid", "hard_sigmoid", NULL},
    {"logistic", "sigmoid", NULL},
    // Options of layers
    {"outchannels outfeatures filters numfilters units channels outplanes", "out", NULL},
    {"kernelsize ksize filtersize size window", "kernel", NULL},
    {"kernelsize kernel poolsize ksize window", "size", NULL},
    {"size outsize", "output_size", NULL},
    {"strides", "stride", NULL},
    {"pad pads", "padding", NULL},
    {"scale factor size", "scale_factor", NULL},
    {"usebias", "bias", NULL},
    {"epsilon", "eps", NULL},
    {"numgroups", "groups", NULL},
    {"rate prob probability drop droprate dropprob dropoutrate", "p", NULL},
    // Keys of a model
    {"inputshape inputsize inputdim imagesize imageshape shape", "input",
     "It is [channels, height, width]"},
    {"network modules model blocks", "layers", NULL},
    // Rows of a claim
    {"b batchsize trainbatchsize bs minibatch* perdevicebatchsize perdevicetrainbatchsize", "batch",
     NULL},
    {"acc top1* testacc* valacc* validacc* finalacc* accuracypercent bestacc* precision1",
     "accuracy", NULL},
    {"testerr* top1err* err errorrate errorpercent", "error", NULL},
    {"loss trainingloss finalloss", "train_loss", NULL},
    {"time totaltime traintime trainingtime walltime wallclock* duration seconds runtime",
     "total_seconds", "It takes 1h 2m, 0:02:36, 156"},
    {"epochtime timeperepoch secperepoch sperepoch", "seconds_per_epoch", "It takes 2m36s, 156"},
    {"batchtime timeperbatch steptime timeperstep msperbatch msperstep", "batch_ms",
     "It takes 12 ms, 1.2 s"},
    {"fps ips imagespersec imgpersec imgspersec samplespersec", "images_per_second", NULL},
    {"gpus ngpus ngpu numgpus worldsize numdevices nproc ranks processes", "devices", NULL},
    {"speedup", "speed_up", NULL},
    // Keys of an experiment
    {"b batch batchsize* trainbatchsize totalbatchsize globalbatchsize bs minibatch* "
     "perdevicetrainbatchsize perdevicebatchsize pergputrainbatchsize microbatchsize",
     "global_batch", ALL_DEVICES},
    {"j workers numworkers nworkers dataloadernumworkers", "loader_workers", NULL},
    {"epoch numepoch numepochs maxepochs nepochs nbepochs numtrainepochs trainingepochs", "epochs",
     NULL},
    {"randomseed randomstate manualseed rngseed seedeverything globalseed torchseed numpyseed",
     "seed", NULL},
    {"devices gpus ngpus ngpu numgpus numdevices nprocpernode world numprocesses nproc ranks",
     "world_size", NULL},
    {"v shards numshards nshards numvirtualshards", "virtual_shards", NULL},
    {"extends inherits inherit parent basedon", "base", NULL},
    {"data trainset trainingdata dataset*", "dataset", NULL},
    {"a arch architecture network net backbone modelname", "model", NULL},
    {"opt optim optimiser", "optimizer", NULL},
    {"sched scheduler lrscheduler lrschedule lrschedulertype", "schedule", NULL},
    {"transform transforms augmentation* dataaugmentation", "augment", NULL},
    {"normalise normalization", "normalize", NULL},
    {"ema modelema averaging", "average", NULL},
    {"pretrained pretrainedweights pretrainedmodel checkpoint weights loadfrom finetunefrom",
     "initial_weights", "It is {file, except}"},
    {"syncbn syncbatchnorm", "sync_batch_norm", NULL},
    {"smoothing labelsmoothingfactor smooth", "label_smoothing", NULL},
    {"dropremainder", "drop_last", NULL},
    {"earlystop earlystoppingcallback", "early_stopping", NULL},
    {"stoppingthreshold stopataccuracy", "accuracy", NULL},
    {"validationsplit valsplit valsize validsize validationsize valfraction", "validation.samples",
     "It is a number of training images, not a share of them"},
    {"savebest savebestonly loadbestmodelatend monitor", "keep",
     "'keep: best' keeps the model of the best epoch on validation samples"},
    {"algorithm method name type class", "kind", NULL},
    // Optimizers
    {"learningrate baselr initiallr initlr lr0 maxlr learningrateinit", "lr", NULL},
    {"wd l2 l2reg l2regularization weightdecayrate", "weight_decay", NULL},
    {"beta1 beta2 beta adambeta1 adambeta2 adambetas", "betas", "It is a list: [beta1, beta2]"},
    {"adamepsilon", "eps", NULL},
    {"usenesterov", "nesterov", NULL},
    {"gradclip gradientclip* gradclipnorm clipgradnorm clipgrad maxgradnorm maxnorm clipnorm "
     "globalclipnorm clip",
     "clip_norm", NULL},
    {"momentumsgd sgdmomentum", "sgd", "'momentum' is one of its options"},
    // Schedules
    {"step steplr steps multisteplr stepdecay piecewiseconstant*", "multistep",
     "Its 'milestones' are the epochs at which the rate is multiplied by 'gamma'; those of a "
     "StepLR are step_size, 2 × step_size, …"},
    {"cosineannealing cosineannealinglr cosinedecay cosinelr cos", "cosine",
     "It reaches 0 at the end of 'epochs', whatever T_max is, and changes with every step; with "
     "'by_epoch: true' with every epoch"},
    {"linearlr piecewiselinear", "linear", "Its 'points' are pairs [epoch, factor]"},
    {"1cycle superconvergence", "one_cycle", NULL},
    {"reducelronplateau reduceonplateau", "plateau",
     "It watches the loss of each epoch: of 'validation', or else of training"},
    {"none fixed const", "constant", NULL},
    {"stepsize steps boundaries", "milestones",
     "For a StepLR they are step_size, 2 × step_size, …"},
    {"decayrate lrdecay dropfactor", "gamma", NULL},
    {"warmup warmupsteps numwarmupsteps nwarmup warmupratio warmupt", "warmup_epochs",
     "It is a number of epochs"},
    {"annealstrategy", "anneal", NULL},
    {"freeze* unfreeze* frozen requiresgrad", "frozen_epochs",
     "It is a number of epochs; 'trained_epochs: 0' freezes for good"},
    {"totaliters startfactor endfactor lrlambda", "points", "They are pairs [epoch, factor]"},
    {"divfactorfinal", "final_div_factor", NULL},
    // Augmentations and initial values
    {"randomhorizontalflip hflip fliplr randomflip flip", "horizontal_flip", NULL},
    {"crop", "random_crop", NULL},
    {"resizedcrop randomsizedcrop", "random_resized_crop", NULL},
    {"affine", "random_affine", NULL},
    {"randomrotation rotation rotate", "random_affine", "'degrees' alone rotates"},
    {"fillmode", "padding_mode", NULL},
    {"hflipprob flipprob", "p", NULL},
    {"nholes length masksize", "size", NULL},
    {"zeros", "zero", NULL},
    {"ones", "one", NULL},
    {"glorotuniform", "xavier_uniform", NULL},
    {"heuniform", "kaiming_uniform", NULL},
    {"pytorch torch", "default", NULL},
    // Strategies
    {"dataparallel", "dp", NULL},
    {"distributed distributeddataparallel", "ddp", NULL},
    {"pipeline pipelineparallel modelparallel pp gpipe", "mp", NULL},
    {"cpu none one", "single", NULL},
    // Commands
    {"run fit", "experiment", NULL},
    {"eval test predict inference", "evaluate", NULL},
    {"ls list", "runs", NULL},
    {"rm delete clean", "clean-runs", NULL},
    {"diff", "compare", NULL},
    // Options of tools
    {"output outputdir outdir o savedir", "out", NULL},
    {"config cfg c", "experiment", NULL},
    {"nprocpernode nproc np n gpus", "world-size", NULL},
    {"checkpoint ckpt pretrained weights", "init", NULL},
    {"resumefromcheckpoint ckptpath", "resume", NULL},
    {"states nstates savetopk", "keep-states", NULL},
    {"saveevery savesteps savefreq saveinterval", "checkpoint-every",
     "It is a number of steps, or of seconds: 30s"},
    {"gpu gpuid gpuids cuda usecuda nocuda accelerator", "device",
     "It is auto, cpu, cuda, or a list such as cuda:0,cuda:1"},
    {"data datadir traindata trainset", "train", NULL},
    {"dataset test testset testdata", "data", NULL},
    {"checkpoint ckpt weights", "model", NULL},
    {"testsize testsplit testratio valsplit validationsplit", "test-fraction", NULL},
    {"numshards nshards", "shards", NULL},
    {"input source src", "from", NULL},
};

// Theirs is something else, or needs no word here.
static const row other[] = {
    // Layers
    {"selu", "elu",
     "not here; 'elu: {alpha: 1.6732632423543772}' and then 'scale: {factor: 1.0507009873554805}' "
     "are that"},
    {"prelu rrelu crelu threshold relu2 squaredrelu glu reglu geglu swiglu hardtanh tanhshrink "
     "logsigmoid softsign softshrink hardshrink quickgelu gelunew geluhtanh maxout",
     "relu", ACTIVATION},
    {"softmax*", "relu", IN_LOSS},
    {"activation", "relu", "each is a layer by its own name, such as 'relu'"},
    {"crossentropy*", "relu", "it is the loss of every model, not a layer"},
    {"nllloss* mseloss* bceloss* bcewithlogits*", "relu",
     "cross entropy is the loss of every model, not a layer"},
    {"dropout1d dropout3d featurealphadropout alphadropout gaussiandropout dropblock* dropconnect",
     "dropout",
     "not here; 'dropout' drops single values, 'dropout2d' channels, and 'stochastic_depth' all"},
    {"globalmax* globalmp*", "max_pool", "'max_pool' with a window as large as the image is that"},
    {"adaptivemax*", "max_pool",
     "with size 1 it is 'max_pool' with a window as large as the image; other sizes are not here"},
    {"lppool* fractionalmaxpool* maxunpool* minpool* globalminpool* globalsumpool* sumpool* "
     "medianpool* stochasticpool*",
     "max_pool", "not here; the pools are 'max_pool', 'avg_pool' and 'global_avg_pool'"},
    {"conv1d conv3d convtranspose* conv2dtranspose convolutiontranspose* deconv* transposedconv* "
     "lazyconv1d lazyconv3d maxpool1d maxpool3d avgpool1d avgpool3d maxpooling1d "
     "maxpooling3d averagepooling1d averagepooling3d globalaveragepooling1d globalaveragepooling3d",
     "conv", "not here: 'conv' and the pools are of two dimensions"},
    {"depthwiseconv* dwconv separableconv* pointwiseconv*", "conv",
     "'conv' with 'groups' as many as channels is depthwise, and with 'kernel: 1' pointwise"},
    {"syncbatchnorm syncbn", "batch_norm",
     "'batch_norm' in the model, and 'sync_batch_norm: true' in the experiment"},
    {"batchnorm3d batchrenorm* ghostbatchnorm rmsnorm weightnorm spectralnorm frn "
     "filterresponsenorm",
     "batch_norm",
     "not here; the normalisations are 'batch_norm', 'group_norm', 'instance_norm', 'layer_norm' "
     "and 'local_response_norm'"},
    {"densenetblock denseblock denselayer inception*", "concat",
     "'concat' puts the outputs of layers beside each other"},
    {"gate squeezeexcit* squeezeandexcit* seblock selayer semodule", "multiply",
     "'global_avg_pool', two 'conv' with 'kernel: 1', 'sigmoid', and 'multiply: {with: …}'"},
    {"sub subtract minimum maximum matmul", "add",
     "not here; 'add' and 'multiply' join the outputs of two layers"},
    {"lstm* gru* rnn* embedding attention attn multihead* selfattention transformer* mamba", "conv",
     "not here: models are of images, made of convolutions and linear layers"},
    {"bilinear lazybilinear", "linear", "not here"},
    {"identity", "relu", "leave it out: a layer without effect needs no word"},
    {"sequential", "residual", "the list 'layers' is one; 'body' of 'residual' is a list as well"},
    {"pixelshuffle reflectionpad* replicationpad* unfold fold", "conv",
     "not here; 'zero_pad' and 'upsample' are"},
    // Options of layers
    {"inchannels infeatures inplanes numfeatures numchannels normalizedshape", "from",
     "leave it out: the size of an input is that of the layer before"},
    {"inplace", "from", "leave it out: it has no effect on the values"},
    {"dilation", "stride", "not here: windows have no gaps"},
    {"paddingmode", "kernel", "not here: 'conv' pads with zeros"},
    {"activation", "out", "an activation is a layer of its own, after this one"},
    {"affine elementwiseaffine center scale", "eps", "it always has a weight and a bias"},
    {"negativeslope", "from", "'leaky_relu' has it"},
    {"dim axis", "from", "leave it out: it is the one of channels, features or classes"},
    {"approximate", "from", "'gelu' is the exact one"},
    {"keepprob keeprate", "p", "'p' is the probability of dropping: 1 - keep_prob"},
    // Experiments
    {"accumulategradbatches gradientaccumulationsteps gradaccum* accumulationsteps "
     "iterstoaccumulate",
     "global_batch",
     "every step sums the gradients of all 'virtual_shards' of 'global_batch', also if one device "
     "computes several of them in turn"},
    {"shuffle", "global_batch", "leave it out: training images are shuffled in every epoch"},
    {"classweight* posweight weightedloss focalloss* sampler* weightedsampler* "
     "weightedrandomsampler "
     "balancedsampler oversampl* undersampl* classbalanc*",
     "global_batch",
     "not here: every training image counts alike; a rare class counts more with copies of its "
     "training pictures"},
    {"testbatchsize valbatchsize evalbatchsize perdeviceevalbatchsize", "global_batch",
     "leave it out: it has no effect on an accuracy"},
    {"loss criterion lossfn lossfunction", "virtual_shards",
     "leave it out: the loss is cross entropy"},
    {"precision amp fp16 bf16 mixedprecision autocast dtype halfprecision", "global_batch",
     "not here: values have single precision"},
    {"deterministic cudnndeterministic benchmark cudnnbenchmark", "global_batch",
     "leave it out: equal settings always give equal bits"},
    {"pinmemory persistentworkers prefetchfactor nonblocking", "global_batch",
     "not here: 'loader_workers' is the only setting of the loader"},
    {"numclasses nclasses classes", "global_batch",
     "it is 'out' of the last linear layer in the model file"},
    {"maxsteps trainsteps numsteps iterations niter maxiters", "global_batch",
     "a length is given in 'epochs', which need not be a whole number"},
    {"device accelerator gpu gpuid gpuids cuda nocuda usecuda", "global_batch",
     "it is the option --device of the train tools"},
    {"imagesize imgsize inputsize resolution", "global_batch", "it is 'input' of the model file"},
    {"dropout dropoutrate", "global_batch", "it is a layer of the model file: 'dropout: {p: 0.5}'"},
    {"datadir dataroot root datapath trainpath trainfile", "global_batch",
     "it is the option --train of the train tools; 'dataset' is the name of the data"},
    {"verbose loginterval loggingsteps logeverynsteps", "global_batch", EVERY_EPOCH},
    {"threads numthreads nthreads", "global_batch",
     "it is the option --threads of the train tools"},
    {"outputdir savedir logdir checkpointdir", "global_batch",
     "it is the option --out of the train tools"},
    {"resume resumefromcheckpoint", "global_batch",
     "the option --resume of the train tools continues a run"},
    {"base", "global_batch", "it is a key of files: another file is another --experiment"},
    {"init initializer weightinit initialization kernelinitializer", "global_batch",
     "the initial values of tensors are 'init' in 'tensors'; 'initial_weights' is a file of them"},
    {"swa", "average", "not here; 'average' has the kinds 'ema' and 'lookahead'"},
    {"cutmix cutmixalpha", "mixup", "not here; 'mixup' blends whole images"},
    {"randaugment autoaugment trivialaugment*", "augment", AUGMENT},
    {"patience", "global_batch", "'early_stopping' has it, and so has 'schedule: {kind: plateau}'"},
    // Optimizers
    {"adamax nadam radam rmsprop adagrad lion lamb lars rprop lbfgs sparseadam asgd "
     "adafactor muon shampoo sophia* adabelief adan nadamw radamw adamp adams adams sgdw sgdp "
     "ftrl yogi novograd qhadam qhsgd adabound soap prodigy dadapt* sam ranger",
     "adamw", OPTIMIZER},
    {"lookahead", "adamw", "it is 'average: {kind: lookahead}'"},
    {"decay", "weight_decay", "'weight_decay' is that of the weights, 'schedule' that of the rate"},
    {"dampening", "momentum", "not here: it is 0"},
    {"amsgrad maximize foreach fused capturable differentiable", "clip_norm", "not here"},
    // Schedules
    {"tmax tinitial", "milestones", "leave it out: 'cosine' ends with the last epoch"},
    {"etamin lrmin endlr eta0", "milestones", "not here: 'cosine' ends at 0"},
    {"totalsteps stepsperepoch epochs lastepoch cyclemomentum basemomentum maxmomentum threephase",
     "milestones", "leave it out: the length is that of 'epochs', and the momentum stays as it is"},
    {"monitor", "milestones", "leave it out: it is the loss of 'validation', or else of training"},
    {"mode thresholdmode eps", "milestones",
     "leave it out: 'plateau' watches a loss, 'threshold' is a part of it, and eps is 1e-8"},
    {"exponential exponentiallr exponentialdecay", "multistep",
     "not here; 'multistep' with a milestone at each epoch, at most 64, is the same"},
    {"lambdalr lambda polynomial* poly", "multistep",
     "'linear' takes a function f as points [epoch, f(epoch)], at most 64, with straight lines "
     "between them"},
    {"cosineannealingwarmrestarts cosinewithrestarts cosinerestarts sgdr multiplicativelr cycliclr "
     "clr triangular inverse* invsqrt constantlr sequentiallr chainedscheduler noam",
     "multistep", SCHEDULE},
    // Augmentations
    {"totensor toimage todtype convertimagedtype compose", "random_crop",
     "leave it out: pixels are numbers from 0 to 1 by themselves"},
    {"normalize", "random_crop", "it is 'normalize: {mean, std}' of the experiment"},
    {"mixup", "random_crop", "it is 'mixup: {alpha}' of the experiment"},
    {"randomverticalflip verticalflip vflip resize centercrop fivecrop "
     "randomgrayscale grayscale gaussianblur randomperspective randomerasing gridmask autoaugment "
     "randaugment trivialaugment* augmix cutmix randominvert randomposterize randomsolarize "
     "gaussiannoise elastictransform translation randomtranslation randomzoom randomshear",
     "random_crop", AUGMENT},
    {"size", "padding_mode", "leave it out: the size is that of the images"},
    {"shear fillcolor", "degrees", "not here"},
    // Initial values
    {"xaviernormal glorotnormal henormal lecun* truncnormal truncatednormal normal uniform "
     "randomnormal randomuniform orthogonal* constant eye identity sparse variancescaling",
     "kaiming_normal", INIT},
    // Strategies
    {"fsdp zero zero1 zero2 zero3 deepspeed horovod tp tensorparallel ps parameterserver ep hybrid",
     "ddp", "another strategy, which is not here"},
    // Options of tools
    {"rank noderank localrank localworldsize worldrank disturl initmethod masteraddr masterport "
     "nnodes nodes numnodes rdzv* distbackend backend multiprocessingdistributed",
     "world-size", "leave it out: a launcher, such as mpirun, gives it to each rank"},
    {"p printfreq loginterval", "resume", EVERY_EPOCH},
    {"opt optim optimizer", "resume", "it is a key: --set optimizer.kind=adam"},
    {"savemodel", "resume", "leave it out: the model is always written, to --out"},
    {"e evaluate evaluateonly evalonly testonly", "resume",
     "'evaluate' tests the model of a run, and says its accuracy"},
    {"val valid valdata validdata valfile validation validationdata", "resume",
     "'validation: {samples: N}' of the experiment takes them from the training images"},
};

// ---- One word in many spellings ----

// "nn.BatchNorm2d", "batch-norm-2d" and "batch_norm2d" are all "batchnorm2d".
static void make_plain(const char *word, char plain[PLAIN_BYTES]) {
    const char *dot = strrchr(word, '.');
    size_t length = 0;
    for (const char *p = dot ? dot + 1 : word; *p && length < PLAIN_BYTES - 1; p++)
        if (!strchr("_- ", *p)) plain[length++] = (char)tolower((unsigned char)*p);
    plain[length] = 0;
}

// Two dimensions are ours.
static void cut_2d(char plain[PLAIN_BYTES]) {
    const size_t length = strlen(plain);
    if (length > 2 && strcmp(plain + length - 2, "2d") == 0) plain[length - 2] = 0;
}

// Is `path` the kind of the group `plain`: "optimizer.kind"?
static bool is_kind_of(const char *path, const char *plain) {
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".kind") == 0 && strlen(plain) == (size_t)(dot - path) &&
           strncmp(path, plain, strlen(plain)) == 0;
}

// Returns the known word with this plain form; else the one path that ends with it, or the kind of
// this group.
static const char *find_known(const char *plain, const char *const *known, size_t count) {
    char ours[PLAIN_BYTES];
    const char *path = NULL, *kind = NULL;
    size_t paths = 0;
    for (size_t i = 0; i < count && *plain; i++) {
        make_plain(known[i], ours);
        if (is_kind_of(known[i], plain)) kind = known[i];
        if (strcmp(plain, ours) != 0) continue;
        if (!strchr(known[i], '.')) return known[i];
        path = known[i];
        paths++;
    }
    return paths == 1 ? path : kind;
}

// The word that a row's `here` means in this place.
static const char *find_here(const row *r, const char *const *known, size_t count) {
    char plain[PLAIN_BYTES];
    make_plain(r->here, plain);
    return find_known(plain, known, count);
}

static bool lists(const char *words, const char *plain) {
    const size_t size = strlen(plain);
    while (*words) {
        const size_t length = strcspn(words, " ");
        const bool open = length && words[length - 1] == '*';
        if (open ? strncmp(words, plain, length - 1) == 0
                 : length == size && strncmp(words, plain, length) == 0)
            return true;
        words += length + (words[length] == ' ');
    }
    return false;
}

static const row *find_row(const row *rows, size_t row_count, const char *plain,
                           const char *const *known, size_t count) {
    for (size_t i = 0; i < row_count; i++)
        if (lists(rows[i].theirs, plain) && find_here(&rows[i], known, count)) return &rows[i];
    return NULL;
}

// ---- Slips ----

// "adamp" and "radam" are "adam" and more; "adamm" and "layers" for "layer" are slips.
static bool adds_to(const char *word, const char *known) {
    char longer[PLAIN_BYTES], part[PLAIN_BYTES];
    make_plain(word, longer);
    make_plain(known, part);
    const size_t length = strlen(longer), size = strlen(part);
    if (length <= size) return false;
    if (strcmp(longer + length - size, part) == 0) return true;
    const char added = longer[size];
    const bool is_slip = length == size + 1 && (added == part[size - 1] || added == 's');
    return strncmp(longer, part, size) == 0 && !is_slip;
}

static const char *nearest(const char *word, const char *const *known, size_t count,
                           hint_kind kind) {
    const char *near = spelling_nearest(word, known, count), *dot = near ? strchr(near, '.') : NULL;
    if (!near) return NULL;
    // In a group that is right, only the rest counts.
    if (kind == HINT_KEYS && dot && strncmp(word, near, (size_t)(dot - near) + 1) == 0)
        return spelling_nearest(word + (dot - near) + 1, (const char *[]){dot + 1}, 1) ? near
                                                                                       : NULL;
    if (kind == HINT_KEYS) return near;
    const size_t most = strlen(word) < 8 ? 1 : 2;
    return adds_to(word, near) || spelling_distance(word, near) > most ? NULL : near;
}

// ---- The answer ----

// Finds the known paths of the same group: for "optimizer.type" those below "optimizer".
static size_t same_group(const char *word, const char *const *known, size_t count,
                         const char *own[MOST_OF_GROUP]) {
    const char *dot = strchr(word, '.');
    size_t own_count = 0;
    for (size_t i = 0; dot && i < count && own_count < MOST_OF_GROUP; i++)
        if (strncmp(known[i], word, (size_t)(dot - word) + 1) == 0) own[own_count++] = known[i];
    return own_count;
}

static const char *find_among(const char *word, const char *const *known, size_t count,
                              hint_kind kind, const char **note) {
    char plain[PLAIN_BYTES];
    make_plain(word, plain);
    const char *near = find_known(plain, known, count);
    *note = NULL;
    if (near) return near;
    const row *found = find_row(other, COUNT(other), plain, known, count);
    if (found) {
        *note = found->note;
        return NULL;
    }
    cut_2d(plain);
    near = find_known(plain, known, count);
    if (!near && (found = find_row(same, COUNT(same), plain, known, count))) {
        *note = found->note;
        near = find_here(found, known, count);
    }
    return near ? near : nearest(word, known, count, kind);
}

const char *hint_find(const char *word, const char *const *known, size_t count, hint_kind kind,
                      const char **note) {
    const char *own[MOST_OF_GROUP];
    const size_t own_count = same_group(word, known, count, own);
    const char *near = find_among(word, own, own_count, kind, note);
    return near || *note ? near : find_among(word, known, count, kind, note);
}

const char *hint_about(const char *word, const char *const *known, size_t count, hint_kind kind,
                       char text[HINT_BYTES]) {
    const char *note, *near = hint_find(word, known, count, kind, &note);
    *text = 0;
    if (near)
        snprintf(text, HINT_BYTES, ": did you mean '%s'?%s%s", near, note ? " " : "",
                 note ? note : "");
    else if (note)
        snprintf(text, HINT_BYTES, ": %s", note);
    return text;
}

void hint_list(const char *clause, const char *const *known, size_t count, char text[HINT_BYTES]) {
    size_t used = strlen(text);
    const bool first = used == 0;
    const char *lead = first ? ": " : text[used - 1] == '?' ? " " : ". ";
    used += (size_t)snprintf(text + used, HINT_BYTES - used, "%s%c%s: ", lead,
                             first ? *clause : toupper((unsigned char)*clause), clause + 1);
    for (size_t i = 0; i < count && used < HINT_BYTES; i++)
        used += (size_t)snprintf(text + used, HINT_BYTES - used, "%s%s", i ? ", " : "", known[i]);
}
