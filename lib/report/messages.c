#include "report/messages.h"

#include <string.h>

// Texts with conversions are formats: all languages take the same arguments, if need be in another
// order ("%2$s"). tests/unit/test_report_messages.c checks that.
static const char *const texts[MESSAGES][LANGUAGES] = {
    // Names of quantities, as column heads and in reasons.
    [MESSAGE_RUN] = {"Run", "运行"},
    [MESSAGE_EXPERIMENT] = {"Experiment", "实验"},
    [MESSAGE_ACCURACY] = {"Test accuracy", "测试准确率"},
    [MESSAGE_INTERVAL] = {"95 % interval", "95 % 区间"},
    [MESSAGE_SECONDS_PER_EPOCH] = {"s / epoch", "秒 / 轮"},
    [MESSAGE_TOTAL_SECONDS] = {"Total s", "总秒数"},
    [MESSAGE_TRAIN_LOSS] = {"Train loss", "训练损失"},
    [MESSAGE_TEST_LOSS] = {"Test loss", "测试损失"},
    [MESSAGE_STRATEGY] = {"Strategy", "策略"},
    [MESSAGE_WORLD_SIZE] = {"Ranks", "进程数"},
    [MESSAGE_VIRTUAL_SHARDS] = {"V", "V"},
    [MESSAGE_GLOBAL_BATCH] = {"Global batch", "全局批量"},
    [MESSAGE_LEARNING_RATE] = {"lr", "学习率"},
    [MESSAGE_EPOCHS] = {"Epochs", "轮数"},
    [MESSAGE_EPOCH] = {"Epoch", "轮"},
    [MESSAGE_SEED] = {"Seed", "种子"},
    [MESSAGE_MODEL] = {"Model", "模型"},
    [MESSAGE_DATA] = {"Data", "数据"},
    [MESSAGE_DATASET] = {"Dataset", "数据集"},
    [MESSAGE_AUGMENTATION] = {"Augmentation", "数据增强"},
    [MESSAGE_OPTIMIZER] = {"Optimizer", "优化器"},
    [MESSAGE_PRECISION] = {"Precision", "精度"},
    [MESSAGE_BUILD] = {"Build", "构建版本"},
    [MESSAGE_HOST] = {"Host", "主机"},
    [MESSAGE_CPU] = {"CPU", "CPU"},
    [MESSAGE_CORES] = {"Cores", "核心数"},
    [MESSAGE_ISA] = {"Instruction set", "指令集"},
    [MESSAGE_DEVICE] = {"Device", "设备"},
    [MESSAGE_TOOL] = {"Tool", "工具"},
    [MESSAGE_COMPILER] = {"Compiler", "编译器"},
    [MESSAGE_STARTED] = {"Started", "开始时间"},
    [MESSAGE_THREADS] = {"Threads per rank", "每进程线程数"},
    [MESSAGE_LOADER_WORKERS] = {"Loader workers", "加载线程数"},
    [MESSAGE_BATCH_NORM_GROUP] = {"Batch norm group", "批归一化组"},
    [MESSAGE_REDUCTION] = {"Reduction", "归约"},
    [MESSAGE_LOSS] = {"Loss", "损失"},
    [MESSAGE_SECONDS] = {"Seconds", "秒"},
    [MESSAGE_SAMPLES] = {"Samples", "样本数"},
    [MESSAGE_CLASS] = {"Class", "类别"},
    [MESSAGE_SOURCE] = {"Source", "来源"},
    [MESSAGE_PUBLISHED_VALUE] = {"Published", "已发表"},
    [MESSAGE_OWN_VALUE] = {"Measured here", "本次测得"},
    [MESSAGE_QUANTITY] = {"Quantity", "量"},
    [MESSAGE_NOTE] = {"Note", "备注"},
    [MESSAGE_ROLE] = {"Role", "角色"},
    [MESSAGE_PATH] = {"Path", "路径"},
    [MESSAGE_BYTES] = {"Bytes", "字节数"},
    [MESSAGE_CONTENT_HASH] = {"SHA-256", "SHA-256"},
    [MESSAGE_TIME_TO_TARGET] = {"s to %.0f %%", "达到 %.0f %% 的秒数"},
    // Reasons and labels.
    [MESSAGE_A_VS_B] = {"%s %s vs %s", "%s：%s 与 %s"},
    [MESSAGE_DIFFERS] = {"%s differs", "%s不同"},
    [MESSAGE_UNKNOWN] = {"%s unknown", "%s未知"},
    [MESSAGE_NOT_TRAINED] = {"%s has no training run", "%s 没有训练记录"},
    [MESSAGE_WAS_RESUMED] = {"%s was resumed: its times belong to several executions",
                             "%s 曾中断后恢复：其时间分属多次执行"},
    [MESSAGE_NO_TIMES] = {"%s has no times", "%s 没有计时"},
    [MESSAGE_SIMULATED] = {"SIMULATED", "模拟 (SIMULATED)"},
    [MESSAGE_IDENTICAL] = {"identical to %s", "与 %s 完全相同"},
    [MESSAGE_NONE] = {"none", "无"},
    [MESSAGE_YES] = {"yes", "是"},
    [MESSAGE_NO_BECAUSE] = {"no: %s", "否：%s"},
    // The page.
    [MESSAGE_TITLE_MANY] = {"%s and %zu more", "%s 等 %zu 个"},
    [MESSAGE_TITLE_VERSUS] = {"%s against %s", "%s 对比 %s"},
    [MESSAGE_TITLE_MANY_VERSUS] = {"%zu experiments against %s", "%zu 个实验对比 %s"},
    [MESSAGE_LEAD_ACCURACY] =
        {"Test accuracy %s (95 %% interval %s to %s, %lld samples) after %lld epochs of %s on %s.",
         "在 %6$s（%7$s）上训练 %5$lld 轮后，测试准确率为 %1$s（95 %% 区间 %2$s 至 %3$s，%4$lld "
         "个样本）。"},
    [MESSAGE_LEAD_ACCURACY_BARE] = {"Test accuracy %s after %lld epochs of %s on %s.",
                                    "在 %3$s（%4$s）上训练 %2$lld 轮后，测试准确率为 %1$s。"},
    [MESSAGE_LEAD_TIME] = {"An epoch took %s s (%s), the whole training %s s.",
                           "每轮 %s 秒（%s），整个训练 %s 秒。"},
    [MESSAGE_LEAD_MEDIAN] = {"median of %zu, without the first", "%zu 轮的中位数，不含第一轮"},
    [MESSAGE_LEAD_ONE_EPOCH] = {"the only one", "仅一轮"},
    [MESSAGE_LEAD_MANY] = {"%zu runs of %zu experiments.", "%zu 次运行，%zu 个实验。"},
    [MESSAGE_LEAD_IDENTICAL] = {"All %zu runs ended in the same model, bit for bit.",
                                "全部 %zu 次运行得到逐位相同的模型。"},
    [MESSAGE_SUMMARY_NOTE] =
        {"s / epoch: median over epochs, without the first when there are more; evaluation is not "
         "counted. V: virtual shards, which fix the arithmetic. Model: first 12 digits of the "
         "content hash of model.st.zst.",
         "秒 / "
         "轮：各轮的中位数，多于一轮时不含第一轮；不含评估时间。V：虚拟分片数，它决定算术。模型：mo"
         "del.st.zst 内容哈希的前 12 位。"},
    [MESSAGE_SIMULATED_NOTE] = {"SIMULATED: ranks × threads exceed the cores of the machine (%s), "
                                "so the time says nothing about as many real devices.",
                                "模拟 (SIMULATED)：进程数 × "
                                "线程数超过机器核心数（%s），该时间不能代表同样数量的真实设备。"},
    [MESSAGE_RESUMED_NOTE] = {"No times are shown where a run was resumed: %s.",
                              "恢复过的运行不显示时间：%s。"},
    [MESSAGE_SEEDS] = {"Repeats", "重复"},
    [MESSAGE_SEEDS_NOTE] = {"Means over seeds with the sample standard deviation and the 95 % "
                            "interval of the mean (Student's t).",
                            "各种子的平均值、样本标准差，以及平均值的 95 % 区间（学生 t 分布）。"},
    [MESSAGE_RUNS] = {"Runs", "运行次数"},
    [MESSAGE_MEAN_ACCURACY] = {"Mean accuracy", "平均准确率"},
    [MESSAGE_DEVIATION] = {"Deviation", "标准差"},
    [MESSAGE_PUBLISHED] = {"Published figures", "已发表的数字"},
    [MESSAGE_PUBLISHED_NOTE] =
        {"Published figures were measured elsewhere, on other machines: they stand beside ours "
         "(means over repeats), no speed-up is taken between them.",
         "已发表的数字来自别处的机器：仅与本次结果（各次重复的平均）并列展示，不据此计算加速比。"},
    [MESSAGE_CURVES] = {"Course of training", "训练过程"},
    [MESSAGE_LOSS_CAPTION] =
        {"Training loss. Pale: single steps, thinned; strong: mean of each epoch.",
         "训练损失。浅色：单步（抽样）；深色：每轮平均。"},
    [MESSAGE_LOSS_CAPTION_MANY] =
        {"Training loss, mean of each epoch. Repeats of an experiment have one colour.",
         "训练损失，每轮平均。同一实验的各次重复用同一颜色。"},
    [MESSAGE_ACCURACY_CAPTION] = {"Test accuracy after each epoch.", "每轮之后的测试准确率。"},
    [MESSAGE_NO_PLOT] = {"No drawing here: %s when the report was made.",
                         "此处无图：生成报告时%s。"},
    [MESSAGE_COINCIDE] =
        {"Identical models have the same curves: the one drawn last covers the others.",
         "相同的模型曲线重合：后画的遮住先画的。"},
    [MESSAGE_EPOCH_TABLE_NOTE] = {"Seconds are of training alone.", "秒数仅含训练。"},
    [MESSAGE_TIME_SPLIT] = {"Time of a step", "一步的时间"},
    [MESSAGE_MS_PER_STEP] = {"ms / step", "毫秒 / 步"},
    [MESSAGE_SPLIT_CAPTION] = {"Where the time of a step goes: mean over workers and steps, first "
                               "epoch left out when there are more.",
                               "一步的时间去向：对工作者和步求平均，多于一轮时不含第一轮。"},
    [MESSAGE_PHASE] = {"Phase", "阶段"},
    [MESSAGE_PHASE_LOAD] = {"load", "加载"},
    [MESSAGE_PHASE_COPY] = {"copy", "复制"},
    [MESSAGE_PHASE_FORWARD] = {"forward", "前向"},
    [MESSAGE_PHASE_BACKWARD] = {"backward", "反向"},
    [MESSAGE_PHASE_COMM] = {"comm", "通信"},
    [MESSAGE_PHASE_WAIT] = {"wait", "等待"},
    [MESSAGE_PHASE_UPDATE] = {"update", "更新"},
    [MESSAGE_SUM] = {"Sum", "合计"},
    [MESSAGE_WALL] = {"Wall time", "实际时间"},
    [MESSAGE_SPLIT_ADDS_UP] = {"%s: the phases add up to the wall time within 2 %% (%+.2f %%).",
                               "%s：各阶段之和与实际时间相差不超过 2 %%（%+.2f %%）。"},
    [MESSAGE_SPLIT_DOES_NOT_ADD_UP] =
        {"%s: the phases do NOT add up to the wall time: %+.2f %%, more than 2 %%.",
         "%s：各阶段之和与实际时间不符：%+.2f %%，超过 2 %%。"},
    [MESSAGE_SPLIT_UNKNOWN] = {"%s: no time split: %s.", "%s：没有时间分解：%s。"},
    [MESSAGE_SPLIT_ABSENT] = {"the manifest has no phases", "清单中没有各阶段时间"},
    [MESSAGE_PER_CLASS] = {"Accuracy by class", "各类准确率"},
    [MESSAGE_PER_CLASS_NOTE] = {"With Wilson's 95 % intervals.", "附 Wilson 95 % 区间。"},
    [MESSAGE_CONFUSION] =
        {"Confusion matrix of %s: rows are the true class, columns what the model said.",
         "%s 的混淆矩阵：行是真实类别，列是模型的判断。"},
    [MESSAGE_CONFUSION_LEFT_OUT] =
        {"The confusion matrix of %s has %zu classes and is left out here; its manifest holds it.",
         "%s 的混淆矩阵有 %zu 类，此处从略；见其清单。"},
    [MESSAGE_COMPARISON] = {"Against %s", "与 %s 对比"},
    [MESSAGE_SPEEDUP] = {"Speed-up", "加速比"},
    [MESSAGE_VERDICT] = {"Verdict", "结论"},
    [MESSAGE_ARITHMETIC] = {"Same arithmetic", "算术相同"},
    [MESSAGE_ACCURACY_DIFFERENCE] = {"Accuracy difference", "准确率差"},
    [MESSAGE_ACCURACY_VERDICT] = {"Its verdict", "其结论"},
    [MESSAGE_FASTER] = {"faster", "更快"},
    [MESSAGE_SLOWER] = {"slower", "更慢"},
    [MESSAGE_NO_DIFFERENCE] = {"no difference", "无差别"},
    [MESSAGE_NO_INTERVAL] = {"no verdict: at least %d timed epochs on each side are needed",
                             "无结论：双方至少各需 %d 轮计时"},
    [MESSAGE_NOT_COMPARABLE] = {"not like for like: %s", "条件不同：%s"},
    [MESSAGE_BASELINE] = {"baseline", "基准"},
    [MESSAGE_POINTS] = {"%+.2f points", "%+.2f 个百分点"},
    [MESSAGE_SAME_MODEL] = {"same model: exactly 0", "同一模型：恰为 0"},
    [MESSAGE_SIGNIFICANT] = {"significant (p = %.2g, %s)", "显著（p = %.2g，%s）"},
    [MESSAGE_NOT_SIGNIFICANT] = {"no significant difference (p = %.2g, %s)",
                                 "无显著差异（p = %.2g，%s）"},
    [MESSAGE_BY_PAIRED] = {"paired t-test over %zu seeds", "对 %zu 个种子的配对 t 检验"},
    [MESSAGE_BY_MCNEMAR] = {"McNemar's test on %zu samples", "对 %zu 个样本的 McNemar 检验"},
    [MESSAGE_NOT_TESTED] =
        {"not tested: same seeds with predictions, or three common seeds, are needed",
         "未检验：需要同一种子的预测，或三个共同的种子"},
    [MESSAGE_NO_COMMON_TEST] = {"not comparable: other test data, or none",
                                "不可比：测试数据不同或缺失"},
    [MESSAGE_COMPARISON_NOTE] =
        {"A speed-up is printed only between runs with the same data, model, global batch, epochs, "
         "augmentation, optimizer, precision, build, machine, device kind and loader workers. "
         "Intervals: 95 % bootstrap over epochs and repeats. With one run a side they know the "
         "noise between epochs, not that between runs.",
         "仅当数据、模型、全局批量、轮数、数据增强、优化器、精度、构建、机器、设备类型和加载线程数"
         "都相同时才给出加速比。区间：对轮和重复做 95 % "
         "自助法。每方仅一次运行时，区间只反映轮间噪声，不含运行间噪声。"},
    [MESSAGE_ENVIRONMENT] = {"Environment", "环境"},
    [MESSAGE_FILES] = {"Files", "文件"},
    [MESSAGE_FILES_NOTE] =
        {"No number without its files. The hash is that of the content (uncompressed bytes) for "
         "tensor files, of the file itself for others.",
         "没有文件就没有数字。张量文件的哈希针对其内容（未压缩字节），其他文件针对文件本身。"},
    [MESSAGE_INPUT] = {"input", "输入"},
    [MESSAGE_OUTPUT] = {"output", "输出"},
    [MESSAGE_MANIFEST] = {"manifest", "清单"},
    [MESSAGE_REPRODUCE] = {"Commands", "命令"},
    [MESSAGE_REPRODUCE_NOTE] = {"As recorded in the manifests, in the order of the runs.",
                                "按清单记录，依运行顺序。"},
    [MESSAGE_WHY_NOTE] =
        {"report DIR... --why FIGURE walks a figure back to its files and recomputes it; the names "
         "of all figures are in report.csv.",
         "report DIR... --why FIGURE 可将数字追溯到文件并重新计算；所有数字的名称见 report.csv。"},
    [MESSAGE_NOT_COMPLETE] =
        {"%s is an evaluation without its training run: only its accuracy is shown.",
         "%s 只有评估而无训练记录：仅显示其准确率。"},
    [MESSAGE_BATCH_MS] = {"ms / step", "毫秒 / 步"},
    [MESSAGE_LOAD_SECONDS] = {"Load, s / step", "加载，秒 / 步"},
    [MESSAGE_UPDATE_SECONDS] = {"Step without load, s", "不含加载的一步，秒"},
    [MESSAGE_ALL_RUNS] = {"All runs", "全部运行"},
    [MESSAGE_SPEEDUP_CAPTION] =
        {"Speed-ups with their 95 % intervals; the dashed line is no difference. What was not like "
         "for like has no bar.",
         "加速比及其 95 % 区间；虚线表示无差别。条件不同者不画。"},
    // A ladder from one experiment to another, and a study.
    [MESSAGE_TITLE_LADDER] = {"From %s to %s, one factor at a time", "从 %s 到 %s：逐一改变因素"},
    [MESSAGE_TITLE_STUDY] = {"Study: %s", "研究：%s"},
    [MESSAGE_FACTOR_WORLD] = {"World size, strategy", "进程数与策略"},
    [MESSAGE_FACTOR_SHARDS] = {"V, batch norm group", "V 与批归一化组"},
    [MESSAGE_FACTOR_RATE] = {"Learning-rate rule", "学习率规则"},
    [MESSAGE_FACTOR_REST] = {"Rest: %s", "其余：%s"},
    [MESSAGE_FACTOR_CONTROL] = {"Beside: scaled rate", "旁支：缩放学习率"},
    [MESSAGE_FACTOR_START] = {"Start: %s", "起点：%s"},
    [MESSAGE_FACTOR_ALL] = {"All together", "合计"},
    [MESSAGE_LABELLED] = {"%s: %s", "%s：%s"},
    [MESSAGE_FACTOR] = {"Factor", "因素"},
    [MESSAGE_CHANGE] = {"Change", "改变"},
    [MESSAGE_EFFECT] = {"Effect", "影响"},
    [MESSAGE_TIMES_AS_FAST] = {"%.2f times as fast [%.2f, %.2f]", "速度为 %.2f 倍 [%.2f, %.2f]"},
    [MESSAGE_TIMES_AS_LONG] = {"takes %.2f times as long [%.2f, %.2f]",
                               "用时为 %.2f 倍 [%.2f, %.2f]"},
    [MESSAGE_SO_MANY_SECONDS] = {"%s s", "%s 秒"},
    [MESSAGE_LADDER_TIME] = {"An epoch of %s takes %s, one of %s takes %s: %s.",
                             "%s 一轮用时 %s，%s 一轮用时 %s：%s。"},
    [MESSAGE_LADDER_TIME_UNKNOWN] =
        {"From %s to %s as a whole there is no figure for the time: %s.",
         "从 %s 到 %s 的整体时间没有数字：%s。"},
    [MESSAGE_LADDER_CHANGED] = {"What made the difference: %s.", "造成差别的因素：%s。"},
    [MESSAGE_LADDER_UNCHANGED] = {"No difference found: %s.", "未发现差别：%s。"},
    [MESSAGE_LADDER_ONE_SEED] =
        {"The models differ, but one seed does not tell the factor from chance (SET=\"repeats=3\" "
         "does): %s.",
         "模型有差别，但仅凭一个种子无法区分因素与偶然（可用 SET=\"repeats=3\"）：%s。"},
    [MESSAGE_MODELS_DIFFER] =
        {"the two models differ (p = %.2g, McNemar's test on %zu samples); one seed",
         "两个模型有差别（p = %.2g，对 %zu 个样本的 McNemar 检验）；仅一个种子"},
    [MESSAGE_LADDER_OPEN] = {"No verdict: %s.", "无结论：%s。"},
    [MESSAGE_LADDER_ACCURACY] = {"Test accuracy: %s %.2f %%, %s %.2f %%, a difference of %s.",
                                 "测试准确率：%s 为 %.2f %%，%s 为 %.2f %%，相差 %s。"},
    [MESSAGE_LADDER_IDENTICAL] = {"The same model bit for bit, so exactly 0: %s.",
                                  "模型逐位相同，因此恰为 0：%s。"},
    [MESSAGE_LADDER_CONTROL] =
        {"With a learning rate that follows the batch, %s reaches %.2f %% instead of %.2f %%: %s.",
         "若学习率随批量缩放，%s 达到 %.2f %%，而非 %.2f %%：%s。"},
    [MESSAGE_LADDER_KEPT] = {"%s comes before the factor %s, which could not change alone: %s.",
                             "%s 排在因素 %s 之前，因其当时无法单独改变：%s。"},
    [MESSAGE_TIME_HEADING] = {"What each step costs in time", "每一步的时间代价"},
    [MESSAGE_ACCURACY_HEADING] = {"What each step does to accuracy", "每一步对准确率的影响"},
    [MESSAGE_TIME_EFFECT_CAPTION] =
        {"Seconds an epoch that each step adds (right) or saves (left), with 95 % intervals.",
         "每一步使一轮增加（右）或节省（左）的秒数，附 95 % 区间。"},
    [MESSAGE_ACCURACY_EFFECT_CAPTION] =
        {"Points of test accuracy that each step brings (right) or loses (left), with 95 % "
         "intervals.",
         "每一步使测试准确率提高（右）或降低（左）的百分点，附 95 % 区间。"},
    [MESSAGE_SECONDS_EFFECT] = {"seconds / epoch against the step before", "相对上一步的秒 / 轮"},
    [MESSAGE_POINTS_EFFECT] = {"points against the step before", "相对上一步的百分点"},
    [MESSAGE_TIME_EFFECT_NOTE] =
        {"Effect: against the step before; a run beside the way is compared with the step above "
         "it, "
         "and so is the step after it. Steps are only compared where data, machine, device, build, "
         "instruction set and, at one world size, threads agree. Intervals: 95 % bootstrap over "
         "epochs and repeats; total seconds have one with three repeats or more. With one run a "
         "step they know the noise between epochs, not that between runs.",
         "影响：相对上一步；旁支与其上一步比较，其后一步亦然。仅当数据、机器、设备、构建、指令集以"
         "及"
         "（进程数相同时）线程数一致时才比较。区间：对轮和重复做 95 % "
         "自助法；总秒数需三次以上重复才有区间。每步仅一次运行时，区间只反映轮间噪声，不含运行间噪"
         "声。"},
    [MESSAGE_ACCURACY_EFFECT_NOTE] =
        {"Effect: against the step before, as for the time. With three common seeds or more the "
         "interval is that of the mean over seeds (Student's t, paired). With fewer it is that of "
         "the test samples of one seed, which does not know how much another seed would change. "
         "Every step is tested by itself, at the 5 % level.",
         "影响：相对上一步，同时间一节。有三个以上共同种子时，区间为各种子平均差的区间（配对学生 "
         "t）；否则只是同一种子测试样本的区间，不含换种子的变化：可用 "
         "SET=\"repeats=3\" 得知。每一步单独按 5 % 水平检验。"},
    [MESSAGE_RATIO] = {"Times as fast", "速度倍数"},
    [MESSAGE_RATIO_TO] = {"times as fast as %s", "相对 %s 的速度倍数"},
    [MESSAGE_STUDY_NOTE] =
        {"Times as fast: as %s. Variants differ in nothing but what the study varies, so their "
         "times stand side by side also where the work is not the same.",
         "速度倍数：相对 %s。各变体仅在研究所改变的因素上不同，因此即使工作不同也并列展示时间。"},
    [MESSAGE_STUDY_CAPTION] = {"With 95 % intervals; the dashed line is no difference.",
                               "附 95 % 区间；虚线表示无差别。"},
    [MESSAGE_STEP_LOAD] = {"Load, ms / step", "加载，毫秒 / 步"},
    [MESSAGE_STEP_REST] = {"Rest of the step, ms", "其余部分，毫秒"},
    [MESSAGE_EFFICIENCY] = {"Efficiency", "效率"},
    [MESSAGE_LOAD_SHARE] = {"Load share", "加载占比"},
    [MESSAGE_LOADER_BOUND] = {"Loader bound", "受加载限制 (loader bound)"},
    [MESSAGE_COMPUTE_BOUND] = {"Compute bound", "受计算限制 (compute bound)"},
    [MESSAGE_BORDERLINE] = {"Undecided", "无法判定"},
    [MESSAGE_BOUND_UNKNOWN] = {"No verdict, for want of times", "无计时，故无结论"},
    [MESSAGE_VERDICT_NOTE] =
        {"Load share: how much of a step's time the trainer waits for its batch, median over "
         "epochs "
         "with its 95 % interval. Loader bound: the whole interval lies above 50 %; compute bound: "
         "below; else undecided.",
         "加载占比：一步时间中等待批次的部分，取各轮中位数，附 95 % 区间。受加载限制：整个区间高于 "
         "50 %；受计算限制：低于 50 %。"},
    [MESSAGE_VERDICT_RANGE] = {"The load share of a step goes from %s to %s.",
                               "一步中加载占比从 %s 到 %s。"},
    [MESSAGE_VERDICT_FASTEST] = {"Fastest: %s; against %s: %s.", "最快：%s；相对 %s：%s。"},
    [MESSAGE_VERDICT_NONE_FASTER] = {"No variant is surely faster than %s.",
                                     "没有变体确定快于 %s。"},
    [MESSAGE_VERDICT_NO_INTERVAL] =
        {"With fewer than %d timed epochs there is no interval: the share alone decides here.",
         "计时轮数少于 %d 时没有区间：此处仅凭占比判断。"},
};

static const char *const names[LANGUAGES] = {"en", "zh"};

const char *message_text(language l, message m) {
    return texts[m][l];
}

const char *language_name(language l) {
    return names[l];
}

bool language_find(const char *name, language *l) {
    for (int i = 0; i < LANGUAGES; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *l = (language)i;
        return true;
    }
    return false;
}
