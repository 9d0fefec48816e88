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
    [MESSAGE_STRATEGY] = {"Strategy", "策略"},
    [MESSAGE_WORLD_SIZE] = {"Ranks", "进程数"},
    [MESSAGE_VIRTUAL_SHARDS] = {"V", "V"},
    [MESSAGE_GLOBAL_BATCH] = {"Global batch", "全局批量"},
    [MESSAGE_LEARNING_RATE] = {"lr", "学习率"},
    [MESSAGE_EPOCHS] = {"Epochs", "轮数"},
    [MESSAGE_EPOCH] = {"Epoch", "轮"},
    [MESSAGE_MODEL] = {"Model", "模型"},
    [MESSAGE_DATA] = {"Data", "数据"},
    [MESSAGE_AUGMENTATION] = {"Augmentation", "数据增强"},
    [MESSAGE_OPTIMIZER] = {"Optimizer", "优化器"},
    [MESSAGE_PRECISION] = {"Precision", "精度"},
    [MESSAGE_BUILD] = {"Build", "构建版本"},
    [MESSAGE_HOST] = {"Host", "主机"},
    [MESSAGE_HOSTS] = {"Hosts", "主机数"},
    [MESSAGE_CPU] = {"CPU", "CPU"},
    [MESSAGE_CORES] = {"Cores", "核心数"},
    [MESSAGE_ISA] = {"Instruction set", "指令集"},
    [MESSAGE_GPU] = {"GPU", "GPU"},
    [MESSAGE_DEVICE] = {"Device", "设备"},
    [MESSAGE_TOOL] = {"Tool", "工具"},
    [MESSAGE_COMPILER] = {"Compiler", "编译器"},
    [MESSAGE_STARTED] = {"Started", "开始时间"},
    [MESSAGE_THREADS] = {"Threads per rank", "每进程线程数"},
    [MESSAGE_LOADER_WORKERS] = {"Loader workers", "加载线程数"},
    [MESSAGE_BATCH_NORM_GROUP] = {"Batch norm group", "批归一化组"},
    [MESSAGE_REDUCTION] = {"Reduction", "归约"},
    [MESSAGE_UNCOMMITTED] = {"Uncommitted changes", "未提交的修改"},
    [MESSAGE_EXECUTIONS] = {"Executions", "执行次数"},
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
    [MESSAGE_TIME_TO_TARGET] = {"s to %.3g %%", "达到 %.3g %% 的秒数"},
    // Reasons and labels.
    [MESSAGE_A_VS_B] = {"%s %s vs %s", "%s：%s 与 %s"},
    [MESSAGE_DIFFERS] = {"%s differs", "%s不同"},
    [MESSAGE_UNKNOWN] = {"%s unknown", "%s未知"},
    [MESSAGE_NOT_TRAINED] = {"%s has no training run", "%s 没有训练记录"},
    [MESSAGE_WAS_RESUMED] = {"%s was resumed: its times belong to several executions",
                             "%s 曾中断后恢复：其时间分属多次执行"},
    [MESSAGE_WAS_RESTARTED] = {"%s was restarted after the death of a process: its times belong to "
                               "several executions",
                               "%s 曾因进程意外终止而重新启动：其时间分属多次执行"},
    [MESSAGE_NO_TIMES] = {"%s has no times", "%s 没有计时"},
    [MESSAGE_SIMULATED] = {"SIMULATED", "模拟 (SIMULATED)"},
    [MESSAGE_IDENTICAL] = {"identical to %s", "与 %s 完全相同"},
    [MESSAGE_YES] = {"yes", "是"},
    [MESSAGE_NO_BECAUSE] = {"no: %s", "否：%s"},
    // The page.
    [MESSAGE_TITLE_MANY] = {"%s and %zu more", "%s 等 %zu 个"},
    [MESSAGE_TITLE_VERSUS] = {"%s against %s", "%s 对比 %s"},
    [MESSAGE_TITLE_MANY_VERSUS] = {"%zu experiments against %s", "%zu 个实验对比 %s"},
    [MESSAGE_LEAD_ACCURACY] =
        {"Test accuracy %s (95 %% interval %s to %s, %lld samples) after %s of %s on %s.",
         "在 %6$s（%7$s）上训练 %5$s后，测试准确率为 %1$s（95 %% 区间 %2$s 至 %3$s，%4$lld "
         "个样本）。"},
    [MESSAGE_LEAD_ACCURACY_BARE] = {"Test accuracy %s after %s of %s on %s.",
                                    "在 %3$s（%4$s）上训练 %2$s后，测试准确率为 %1$s。"},
    [MESSAGE_LEAD_TIME] = {"An epoch took %s s (%s), the whole training %s s.",
                           "每轮 %s 秒（%s），整个训练 %s 秒。"},
    [MESSAGE_LEAD_MEDIAN] = {"median of %zu, without the first", "%zu 轮的中位数，不含第一轮"},
    [MESSAGE_LEAD_ONE_EPOCH] = {"the only one", "仅一轮"},
    [MESSAGE_LEAD_EXECUTIONS] = {"median of %zu executions", "%zu 次执行的中位数"},
    [MESSAGE_LEAD_MANY] = {"%zu runs of %zu experiments.", "%zu 次运行，%zu 个实验。"},
    [MESSAGE_LEAD_MANY_OF_ONE] = {"%zu runs of one experiment.", "%zu 次运行，1 个实验。"},
    [MESSAGE_LEAD_IDENTICAL] = {"All %zu runs ended in the same model, bit for bit.",
                                "全部 %zu 次运行得到逐位相同的模型。"},
    [MESSAGE_SUMMARY_NOTE] =
        {"s / epoch: median over epochs, without the first when there are more; evaluation is not "
         "counted. V: virtual shards, which fix the arithmetic. Model: first 12 digits of the "
         "content hash of model.st.zst.",
         "秒 / "
         "轮：各轮的中位数，多于一轮时不含第一轮；不含评估时间。V：虚拟分片数，它决定算术。模型：mo"
         "del.st.zst 内容哈希的前 12 位。"},
    [MESSAGE_EXECUTIONS_NOTE] =
        {"Some runs were executed several times, with the same model each time: their s / epoch "
         "and total are medians over the executions; single epochs and the parts of a step are "
         "those of the execution in the middle.",
         "部分运行执行了多次，每次得到的模型相同：其每轮秒数与总秒数为各次执行的中位数；单轮时间与"
         "每"
         "步各部分取自居中的那次执行。"},
    [MESSAGE_LEFT_OUT] = {"%s: the times of %s are left out: %s.", "%s：未计入 %s 的时间：%s。"},
    [MESSAGE_SIMULATED_NOTE] = {"SIMULATED: ranks × threads exceed the cores of the machine (%s), "
                                "so the time says nothing about as many real devices.",
                                "模拟 (SIMULATED)：进程数 × "
                                "线程数超过机器核心数（%s），该时间不能代表同样数量的真实设备。"},
    [MESSAGE_SIMULATED_GPU_NOTE] = {"SIMULATED: several ranks share a GPU (%s), so the time says "
                                    "nothing about as many real devices.",
                                    "模拟 (SIMULATED)：多个工作进程共用一块 "
                                    "GPU（%s），该时间不能代表同样数量的真实设备。"},
    [MESSAGE_RESUMED_NOTE] = {"No times are shown where a run was resumed: %s.",
                              "恢复过的运行不显示时间：%s。"},
    [MESSAGE_RESTARTED_NOTE] = {"No times are shown where a run was restarted: %s.",
                                "重新启动过的运行不显示时间：%s。"},
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
    [MESSAGE_SPLIT_CAPTION] =
        {"Where the time of a step goes: mean over threads, ranks and steps, first "
         "epoch left out when there are more.",
         "一步的时间去向：对线程、进程和步求平均，多于一轮时不含第一轮。"},
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
         "Intervals: 95 % bootstrap over repeats where a side has three or more, else over epochs: "
         "then they know the noise between epochs, not that between runs.",
         "仅当数据、模型、全局批量、轮数、数据增强、优化器、精度、构建、机器、设备类型和加载线程数"
         "都相同时才给出加速比。区间：某方有三次以上重复时对重复做 95 % "
         "自助法，否则对轮做，此时区间只反映轮间噪声，不含运行间噪声。"},
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
         "repeats where a step has three or more, else over epochs: then they know the noise "
         "between epochs, not that between runs. Total seconds have one with three repeats or "
         "more.",
         "影响：相对上一步；旁支与其上一步比较，其后一步亦然。仅当数据、机器、设备、构建、指令集以"
         "及"
         "（进程数相同时）线程数一致时才比较。区间：某步有三次以上重复时对重复做 95 % "
         "自助法，否则对轮做，此时区间只反映轮间噪声，不含运行间噪声。总秒数需三次以上重复才有区间"
         "。"},
    [MESSAGE_ACCURACY_EFFECT_NOTE] =
        {"Effect: against the step before, as for the time. With three common seeds or more the "
         "interval is that of the mean over seeds (Student's t, paired). With fewer it is that of "
         "the test samples of one seed, which does not know how much another seed would change. "
         "Every step is tested by itself, at the 5 % level.",
         "影响：相对上一步，同时间一节。有三个以上共同种子时，区间为各种子平均差的区间（配对学生 "
         "t）；否则只是同一种子测试样本的区间，不含换种子的变化：可用 "
         "SET=\"repeats=3\" 得知。每一步单独按 5 % 水平检验。"},
    [MESSAGE_LADDER_RATE] =
        {"What lost the accuracy is the learning rate, which did not follow the batch (%s): one "
         "that does brings %s back.%s",
         "使准确率下降的是没有随批量缩放的学习率（%s）：缩放后找回 %s。%s"},
    [MESSAGE_LADDER_RATE_PART] =
        {"The learning rate, which did not follow the batch (%s), is less than half of the loss: "
         "one that does brings only %s back.%s",
         "没有随批量缩放的学习率（%s）只占损失的不到一半：缩放后仅找回 %s。%s"},
    [MESSAGE_LADDER_NOT_RANKS] = {" It was not %s (%s): there the model is the same bit for bit.",
                                  "与%s（%s）无关：该步的模型逐位相同。"},
    [MESSAGE_LADDER_RATE_ONE_SEED] = {" This is one seed: SET=\"repeats=3\" tells it from chance.",
                                      "此为一个种子的结果：SET=\"repeats=3\" 可与偶然区分。"},
    // What published figures say along it.
    [MESSAGE_WALK_HEADING] = {"What published figures say", "已发表的数字说明什么"},
    [MESSAGE_WALK_NOTE] =
        {"Published figures stand at the runs that are the experiments they are about. Those "
         "systems know no V: there it counts only by what batch norm normalises over. Factors are "
         "those in which the experiments differ as published; times as fast are by epoch, and only "
         "figures of one source are compared. Measured here is from the run of the one experiment "
         "to that of the other, with what V costs between them. Noise: a two-proportion test at "
         "the 5 % level.",
         "已发表的数字列在与其实验相同的运行处。那些系统没有 "
         "V：只看批归一化的范围。因素指各实验按发表时的差别；速度倍数按每轮计算，且只比较同一来源的"
         "数字。此处测得的是从一个实验的运行到另一个实验的运行，含其间 V 的代价。噪声：5 % "
         "水平的两比例检验。"},
    [MESSAGE_WALK_LENGTH] =
        {"%s trained for %s where %s trains for %s here: speeds can be compared, accuracies "
         "cannot.",
         "%s 训练了 %s，而此处 %s 训练 %s：速度可比，准确率不可比。"},
    [MESSAGE_PUBLISHED_EFFECT] = {"Published effect", "发表的影响"},
    [MESSAGE_SAID_LOADER_WORKERS] = {"loader workers", "加载线程"},
    [MESSAGE_SAID_WORLD] = {"world size and strategy", "进程数与策略"},
    [MESSAGE_SAID_SHARDS] = {"the batch norm group", "批归一化组"},
    [MESSAGE_SAID_BATCH] = {"the global batch", "全局批量"},
    [MESSAGE_SAID_RATE] = {"the learning-rate rule", "学习率规则"},
    [MESSAGE_SAID_EPOCHS] = {"the number of epochs", "轮数"},
    [MESSAGE_SAID_TOGETHER] = {"%s together", "%s一起"},
    [MESSAGE_SECONDS_AN_EPOCH] = {"%s s an epoch", "每轮 %s 秒"},
    [MESSAGE_SO_MANY_TIMES] = {"%s times", "%s 倍"},
    [MESSAGE_SO_MANY_POINTS] = {"%s points", "%s 个百分点"},
    [MESSAGE_SO_MANY_EPOCHS] = {"%s epochs", "%s 轮"},
    [MESSAGE_COUNT_EPOCH] = {"%.9g epoch", "%.9g 轮"},
    [MESSAGE_COUNT_EPOCHS] = {"%.9g epochs", "%.9g 轮"},
    [MESSAGE_WALK_GAVE] = {"%s gave %s the speed (%s)", "%s使速度成为 %s（%s）"},
    [MESSAGE_WALK_BROUGHT] = {"%s brought %s (%s)", "%s带来 %s（%s）"},
    [MESSAGE_WALK_SPEED] = {"In %s's own figures %s%s.", "按 %s 自己的数字，%s%s。"},
    [MESSAGE_WALK_IN_ALL] = {"; %s in all", "；合计 %s"},
    [MESSAGE_WALK_ACCURACY] = {"In %s's own figures, for accuracy, %s%s.",
                               "按 %s 自己的数字，就准确率而言，%s%s。"},
    [MESSAGE_WALK_NOISE] = {"within the noise of %lld test images", "在 %lld 个测试样本的噪声之内"},
    [MESSAGE_SPEED_UP] = {"speed-up", "加速"},
    [MESSAGE_SLOW_DOWN] = {"slow-down", "减速"},
    [MESSAGE_CAUSE_ALL] = {": the %s came from %s", "：%s来自%s"},
    [MESSAGE_CAUSE_MOST] = {": most of the %s (%.0f %% of it, on a log scale) came from %s",
                            "：%s的大部分（对数尺度上的 %.0f %%）来自%s"},
    [MESSAGE_CAUSE_PART] =
        {": no one factor made most of the %s; the largest part (%.0f %% of it, on a log scale) "
         "came from %s",
         "：没有一个因素造成%s的大部分；最大的一份（对数尺度上的 %.0f %%）来自%s"},
    [MESSAGE_CAUSE_AGAINST] = {"; %s went the other way", "；%s的作用相反"},
    [MESSAGE_CAUSE_OPEN] = {": on the whole they do not say which is faster",
                            "：总体上看不出何者更快"},
    [MESSAGE_CAUSE_TOGETHER] = {": which of these did it they do not tell",
                                "：看不出是其中哪一个的作用"},
    [MESSAGE_WALK_ONE_SEED] = {"one seed", "仅一个种子"},
    [MESSAGE_WALK_HERE] = {"Measured here: %s.", "此处测得：%s。"},
    [MESSAGE_LOAD_BOUND] =
        {"Here loading takes %s of a step of %s, so more loader workers can give at most %.2f "
         "times the speed.",
         "此处加载占 %2$s 一步的 %1$s，因此增加加载线程最多使速度成为 %3$.2f 倍。"},
    [MESSAGE_LOAD_NEEDED] =
        {"%.2f times, as in %s, need a step that waits for data for %.0f %% of its time or more.",
         "%2$s 的 %1$.2f 倍需要一步中至少 %3$.0f %% 的时间在等待数据。"},
    [MESSAGE_LOAD_PUBLISHED] =
        {"A step of %s was loading for %.0f %% of its time (%s s, then %s s for the update).",
         "%s 的一步有 %.0f %% 的时间在加载（加载 %s 秒，更新 %s 秒）。"},
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
    // Predicted scaling.
    [MESSAGE_PREDICTION] = {"Predicted beside measured", "预测与实测"},
    [MESSAGE_ONE_RANK_RUN] = {"From the one-rank run", "依据的单进程运行"},
    [MESSAGE_PREDICTED_LOAD] = {"Load, s", "加载，秒"},
    [MESSAGE_PREDICTED_COMPUTE] = {"Compute, s", "计算，秒"},
    [MESSAGE_PREDICTED_UPDATE] = {"Update, s", "更新，秒"},
    [MESSAGE_PREDICTED_COMM] = {"Communication, s", "通信，秒"},
    [MESSAGE_PREDICTED] = {"Predicted s / epoch", "预测的秒 / 轮"},
    [MESSAGE_MEASURED] = {"Measured s / epoch", "实测的秒 / 轮"},
    [MESSAGE_PREDICTION_ERROR] = {"Error of the prediction", "预测误差"},
    [MESSAGE_PREDICTION_NOTE] =
        {"A prediction, from the epoch of a like-for-like run on one rank and from what "
         "communication takes on this machine. Compute (forward, backward and their waiting): as "
         "measured on one rank, times the cores that were busy there, divided by the cores that "
         "are busy here: min(ranks × threads, cores). Load: of ddp divided by min(ranks, cores), "
         "of dp as measured, the master loads for all. Update: of ddp every rank updates all "
         "parameters, on its share of the cores; of dp the master alone. Communication: steps × "
         "(α + β · bytes), of ddp an all-reduce of the record (parameters, statistics, loss) times "
         "the vectors that a rank brings, of dp copies of the bytes that the run counted. Nothing "
         "is hidden, nobody waits for a slower rank. Error: predicted against measured.",
         "这是预测，依据条件相同的单进程运行的一轮，以及本机上通信所需的时间。计算（前向、反向及其"
         "等待）：单进程实测值 × 当时忙碌的核心数 ÷ 此时忙碌的核心数：min(进程数 × 线程数, "
         "核心数)。加载：ddp 除以 min(进程数, 核心数)；dp "
         "不变，由主设备为全体加载。更新：ddp "
         "每个进程更新全部参数，各用其份额的核心；dp 仅主设备更新。通信：步数 × (α + β · "
         "字节数)，ddp 为记录（参数、统计量、损失）乘以每进程向量数的全归约，dp "
         "为该运行所计字节数的复制。假定通信不被掩盖，也无人等待较慢的进程。误差：预测相对实测。"},
    [MESSAGE_NO_PREDICTION] = {"no prediction: %s", "无预测：%s"},
    [MESSAGE_PREDICTION_NO_BASIS] = {"this report has no run on one rank",
                                     "本报告中没有单进程运行"},
    [MESSAGE_PREDICTION_NO_DEVICE] = {"there is no model for the device %s", "设备 %s 没有模型"},
    [MESSAGE_PREDICTION_MACHINE] = {"the collectives were measured on another machine: %s, %s",
                                    "集合通信是在另一台机器上测得的：%s，%s"},
    [MESSAGE_PREDICTION_DEVICES] = {"the collectives were measured on %s",
                                    "集合通信是在 %s 上测得的"},
    [MESSAGE_PREDICTION_HOSTS] = {"hosts of the run: %lld, of the collectives: %lld",
                                  "运行所用主机数：%lld，测量集合通信所用主机数：%lld"},
    [MESSAGE_PREDICTION_TRANSPORT] = {"the run reduces by %s, the collectives were measured by %s",
                                      "该运行经 %s 归约，而集合通信经 %s 测得"},
    [MESSAGE_PREDICTION_REDUCTION] = {"the run reduces %s, the collectives were measured %s",
                                      "该运行的归约为 %s，而集合通信按 %s 测得"},
    [MESSAGE_PREDICTION_NO_RANKS] = {"no collective was measured with %lld ranks",
                                     "没有 %lld 个进程的集合通信测量"},
    [MESSAGE_PREDICTION_NO_BYTES] = {"the size of its messages is not known", "其消息大小未知"},
    [MESSAGE_COPY_BY_THREAD] = {"1: copy by one thread", "1：单线程复制"},
    [MESSAGE_ALPHA] = {"α, µs", "α，微秒"},
    [MESSAGE_BETA] = {"β, ns / byte", "β，纳秒 / 字节"},
    [MESSAGE_FIT_ERROR] = {"Error of the fit", "拟合误差"},
    [MESSAGE_COLLECTIVES_NOTE] = {"Fitted to what bench-allreduce measured: %s/manifest.yaml (%s, "
                                  "%s). Error of the fit: root "
                                  "mean square over the sizes, relative.",
                                  "根据 bench-allreduce 的测量拟合：%s/"
                                  "manifest.yaml（%s，%s）。拟合误差：各大小相对误差的均方根。"},
    [MESSAGE_DEVICE_COLLECTIVES] =
        {"What reducing a vector of so many bytes takes on %s, α + β · bytes: exact, with the same "
         "bits for every world size, and fast, in an order that depends on it.",
         "在 %s 上归约一个向量所需的时间，α + β · "
         "字节：exact 对任意进程数结果逐位相同，fast 的求和顺序取决于进程数。"},
    [MESSAGE_TRANSPORT] = {"Transport", "传输方式"},
    [MESSAGE_DEVICES] = {"Devices", "设备数"},
    [MESSAGE_PROJECTION] =
        {"The same, projected to a device for each rank, such as the one-rank run had, with "
         "communication counted:",
         "同样的模型，推算到每个进程各有一个设备（与单进程运行所用的相同），计入通信："},
    [MESSAGE_PROJECTED] = {"Projected s / epoch", "推算的秒 / 轮"},
    [MESSAGE_PROJECTED_RATIO] = {"Projected times as fast as", "推算的速度倍数，相对"},
    [MESSAGE_PROJECTION_NOTE] =
        {"A projection, never measured: this machine has fewer such devices. Its communication is "
         "that of this machine: SIMULATED where its ranks outnumbered the cores. What others "
         "projected is for their own devices, and stands beside it only.",
         "这是推算，从未实测：本机没有这么多这样的设备。其通信为本机实测值；进程多于核心处标明模拟 "
         "(SIMULATED)。他人的推算针对其自己的设备，仅并列展示。"},
    // Where strategies lose their time.
    [MESSAGE_STRATEGY_LOSSES] = {"Where parallelism loses its time", "并行的时间损失在哪里"},
    [MESSAGE_NO_LOSSES] = {"%s: not shown where its strategy loses time: %s.",
                           "%s：不显示其策略的时间损失：%s。"},
    [MESSAGE_REPLICA] = {"Replica", "副本"},
    [MESSAGE_MASTER] = {"%zu, the master", "%zu（主副本）"},
    [MESSAGE_STAGE] = {"Stage", "流水段"},
    [MESSAGE_STAGES] = {"Stages", "流水段数"},
    [MESSAGE_LAYERS] = {"Layers", "层"},
    [MESSAGE_LAYER_RANGE] = {"%s to %s", "%s 至 %s"},
    [MESSAGE_BUSY] = {"Busy", "忙碌"},
    [MESSAGE_COPYING] = {"Copying", "复制"},
    [MESSAGE_WAITING] = {"Waiting", "等待"},
    [MESSAGE_MEMORY] = {"Memory, MiB", "内存，MiB"},
    [MESSAGE_BYTES_PER_STEP] = {"bytes / step", "字节 / 步"},
    [MESSAGE_BYTES_SENT] = {"Bytes sent / step", "发送字节 / 步"},
    [MESSAGE_MICRO_BATCHES] = {"Micro-batches", "微批数"},
    [MESSAGE_BUBBLE] = {"Bubble, measured", "气泡（实测）"},
    [MESSAGE_BUBBLE_PREDICTED] = {"(S - 1) / (M + S - 1)", "(S - 1) / (M + S - 1)"},
    [MESSAGE_VECTORS] = {"Vectors per reduction", "每次归约的向量数"},
    [MESSAGE_EXPOSED_COMM] = {"Exposed comm", "未隐藏的通信"},
    [MESSAGE_HIDDEN_COMM] = {"Hidden comm, ms / step", "隐藏的通信，毫秒 / 步"},
    [MESSAGE_DP_BROADCAST] = {"broadcast parameters", "广播参数"},
    [MESSAGE_DP_SCATTER] = {"scatter samples", "分发样本"},
    [MESSAGE_DP_GATHER] = {"gather outputs", "收集输出"},
    [MESSAGE_DP_LOSS] = {"loss, at the master", "损失（主副本）"},
    [MESSAGE_DP_SCATTER_GRADIENT] = {"scatter their gradients", "分发其梯度"},
    [MESSAGE_DP_REDUCE] = {"reduce gradients, at the master", "归约梯度（主副本）"},
    [MESSAGE_DP_UPDATE] = {"update, at the master", "更新（主副本）"},
    [MESSAGE_DP_LOSSES] =
        {"%s: a replica spends %.1f %% of a step on copying and reducing and %.1f %% on waiting.",
         "%s：每个副本平均以一步的 %.1f %% 复制与归约，以 %.1f %% 等待。"},
    [MESSAGE_DP_ALONE] = {" For %.1f %% of the step the master works alone.",
                          "一步的 %.1f %% 只有主副本在工作。"},
    [MESSAGE_DP_MASTER_BUSY] = {" The master is busy for %.1f %% of it, replica 1 for %.1f %%.",
                                "主副本忙碌 %.1f %%，副本 1 忙碌 %.1f %%。"},
    [MESSAGE_DP_MASTER_BUSIER] =
        {" The master is busy for %.1f %% of it, the other replicas for %.1f to %.1f %%.",
         "主副本忙碌 %.1f %%，其他副本忙碌 %.1f 至 %.1f %%。"},
    [MESSAGE_DP_NOTE] =
        {"What a DataParallel step does, one after the other, once its batch is there: means over "
         "all steps of the run, the first epoch among them. Bytes are those that cross between "
         "the master and the other replicas.",
         "DataParallel "
         "的一步在批次就绪后依次所做的事：对运行的所有步（含第一轮）求平均。字节数为主副本与其他副"
         "本之间传输的量。"},
    [MESSAGE_MP_LOSSES] =
        {"%s: a stage has nothing to do for %.1f %% of a step (the bubble). Filling and draining a "
         "pipeline of S = %zu stages with M = %.4g micro-batches would cost %.1f %%.",
         "%s：各流水段平均有 %.1f %% 的时间无事可做（气泡）。S = %zu 段、M = %.4g "
         "个微批的流水线，其填充与排空应占 %.1f %%。"},
    [MESSAGE_MP_UNEVEN] =
        {" Its busiest stage is %zu (%s to %s) with %.1f %%, its idlest %zu (%s to %s) with "
         "%.1f %%.",
         "最忙的是第 %zu 段（%s 至 %s），%.1f %%；最闲的是第 %zu 段（%s 至 %s），%.1f %%。"},
    [MESSAGE_DDP_ALIGNED] =
        {"%s: the shards of a rank are a whole subtree of the sum, so it brings one vector to each "
         "reduction.",
         "%s：每个进程的分片恰为求和树的一棵子树，因此每次归约只带来一个向量。"},
    [MESSAGE_DDP_NOT_ALIGNED] =
        {"%s: the shards of a rank are no whole subtree of the sum, so rank 0 brings %.4g vectors "
         "to each reduction instead of one. That factor is the price of exactness.",
         "%s：进程的分片不构成求和树的一棵子树，因此 0 号进程每次归约带来 %.4g "
         "个向量而不是一个：此倍数是精确的代价。"},
    [MESSAGE_DDP_FAST] = {"%s: reduced by --reduce fast, one vector a rank: not exact.",
                          "%s：以 --reduce fast 归约，每个进程一个向量：不精确。"},
    [MESSAGE_DDP_LOSSES] =
        {" Exposed communication takes %.1f %% of a step, waiting %.1f %%; a rank is busy for "
         "%.1f %% of it.",
         "未隐藏的通信占一步的 %.1f %%，等待占 %.1f %%；进程忙碌 %.1f %%。"},
    [MESSAGE_SHARE_OF_STEP] = {"% of a step", "占一步的 %"},
    [MESSAGE_MEAN_OF_RANKS] = {"mean", "平均"},
    [MESSAGE_USE_CAPTION] =
        {"What each replica (its number; 0 is the master), each stage, and a rank on average does "
         "with its time in a step.",
         "每个副本（按编号，0 为主副本）、每个流水段以及进程（平均）在一步中的时间去向。"},
    [MESSAGE_BUSY_NOTE] =
        {"Busy: the share of a step in which a device loads, computes or updates, that is "
         "1 - (copy + comm + wait) / wall time; mean over replicas, stages or ranks.",
         "忙碌：一步中设备加载、计算或更新的时间占比，即 1 - (复制 + 通信 + 等待) / "
         "实际时间；对副本、流水段或进程求平均。"},
    [MESSAGE_USE_NOTE] =
        {"Replicas and stages have a row each: shares of the step once its batch is there, over "
         "all steps of the run. Copying has the reduction in it.",
         "副本和流水段各占一行：批次就绪之后一步中的占比，对运行的所有步求平均。复制包含归约。"},
    [MESSAGE_GPU_USE] = {"What the GPUs did meanwhile", "期间各 GPU 的状态"},
    [MESSAGE_GPU_BUSY] = {"Busy", "忙碌"},
    [MESSAGE_GPU_MEMORY] = {"Memory, most, MiB", "内存（最高），MiB"},
    [MESSAGE_GPU_CLOCK] = {"Clock, mean, MHz", "频率（平均），MHz"},
    [MESSAGE_GPU_POWER] = {"Power, mean, W", "功率（平均），W"},
    [MESSAGE_GPU_HEAT] = {"Temperature, most, °C", "温度（最高），°C"},
    [MESSAGE_GPU_NOTE] =
        {"As the driver (NVML) said, asked once a second, of the whole device and whatever else "
         "used it. Busy: the share of the time in which a kernel ran, however small.",
         "据驱动程序 "
         "(NVML)，每秒查询一次，针对整个设备及其上的一切任务。忙碌：有内核运行（无论大小）"
         "的时间占比。"},
    // Time to a target accuracy.
    [MESSAGE_TARGET] = {"Time to target", "达到目标用时"},
    [MESSAGE_TARGET_TIME] = {"%s s to %.3g %%%s", "%s 秒达到 %.3g %%%s"},
    [MESSAGE_TARGET_REACHED] = {"%.3g %% reached", "达到 %.3g %%"},
    [MESSAGE_TARGET_PARTLY] = {"%.3g %% reached by %zu of %zu runs", "%.3g %%：%zu / %zu 次达到"},
    [MESSAGE_TARGET_MISSED] = {"%.3g %% not reached", "未达到 %.3g %%"},
    [MESSAGE_NOT_REACHED] = {"not reached", "未达到"},
    [MESSAGE_TARGET_NOTE] =
        {"Time to target: seconds of training up to the end of the first epoch after which the "
         "test accuracy is that of the experiment's target; evaluation is not counted.",
         "达到目标用时：到测试准确率首次达到实验目标的那一轮结束为止的训练秒数，不含评估。"},
    // Published reports, reproduced.
    [MESSAGE_REPRODUCTION_TITLE] = {"Published reports, reproduced", "已发表报告的复现"},
    [MESSAGE_REPRODUCTION_LEAD] =
        {"%s for the rows of %s. Published figures are those of other machines: they stand beside "
         "ours, and no speed-up is taken between them. What is compared is compared here, like for "
         "like.",
         "%s对应 %s的各行。已发表的数字来自其他机器：仅与本次结果并列，不据此"
         "计算加速比；对比均在本机、相同条件下进行。"},
    [MESSAGE_COUNT_RUN] = {"%.9g run stands", "%.9g 次运行"},
    [MESSAGE_COUNT_RUNS] = {"%.9g runs stand", "%.9g 次运行"},
    [MESSAGE_COUNT_REPORT] = {"%.9g published report", "%.9g 份已发表报告"},
    [MESSAGE_COUNT_REPORTS] = {"%.9g published reports", "%.9g 份已发表报告"},
    [MESSAGE_REPRODUCTION_CHANGED] =
        {"SHORTENED OR CHANGED: every run was made with %s. Accuracies, losses and total times are "
         "not those of the experiments as they stand.",
         "已缩短或更改：每次运行都使用了 %s。准确率、损失和总时间不是原实验的结果。"},
    [MESSAGE_REPRODUCTION_COLUMNS] =
        {"Epochs: \"2 of 25\" is a run of 2 epochs of an experiment of 25. Speed-up here: against "
         "the run that it is compared with below, and only like for like. V fixes the arithmetic: "
         "models with one hash are the same, bit for bit.",
         "轮数：“2 / 25”表示 25 轮的实验只运行了 2 "
         "轮。本次加速比：相对下文所比较的运行，且仅在条件相同时给出。哈希相同的模型逐位相同。"},
    [MESSAGE_REPORT] = {"Report", "报告"},
    [MESSAGE_OF_EPOCHS] = {"%lld of %lld", "%lld / %lld"},
    [MESSAGE_ACCURACY_PUBLISHED] = {"Accuracy, published", "准确率，已发表"},
    [MESSAGE_EPOCH_PUBLISHED] = {"s / epoch, published", "秒 / 轮，已发表"},
    [MESSAGE_TOTAL_PUBLISHED] = {"Total s, published", "总秒数，已发表"},
    [MESSAGE_SPEEDUP_PUBLISHED] = {"Speed-up, published", "加速比，已发表"},
    [MESSAGE_HERE] = {"here", "本次"},
    [MESSAGE_LIKE_FOR_LIKE] = {"Like for like", "条件相同的对比"},
    [MESSAGE_AGAINST] = {"Against", "对比对象"},
    [MESSAGE_OWN_BASELINE] = {"times as fast as what it is compared with",
                              "相对其对比对象的速度倍数"},
    [MESSAGE_FINDINGS] = {"What its own figures say", "其自身数字的审核"},
    [MESSAGE_NO_FINDINGS] = {"Its figures do not contradict each other.", "其数字互不矛盾。"},
    [MESSAGE_FINDINGS_NOTE] =
        {"By audit, from %s: the figures as they were published, held against each other. Rounding "
         "of the printed digits is no finding.",
         "由 audit 根据 %s "
         "得出：仅将已发表的数字互相对照；印刷数字的四舍五入不算问题。"},
    [MESSAGE_FINDING_ARITHMETIC] = {"Arithmetic fault", "算术错误"},
    [MESSAGE_FINDING_ARMS] = {"Unlike arms", "对比条件不同"},
    [MESSAGE_FINDING_NOISE] = {"Below the noise", "低于噪声"},
    [MESSAGE_FINDING_UNSUPPORTED] = {"Unsupported statement", "缺乏依据"},
    [MESSAGE_FINDING_CONDITION] = {"Unstated condition", "条件未说明"},
    [MESSAGE_MANIFESTS_NOTE] =
        {"The hash is that of the model's content. Each manifest names all files that its run read "
         "and wrote, with their hashes, and its command.",
         "哈希针对模型内容。每份清单列出该次运行读写的全部文件及其哈希，以及所用命令。"},
    // An audit: how its findings are printed.
    [MESSAGE_AUDIT_FINDING] = {"%s: %s: %s", "%s：%s：%s"},
    [MESSAGE_AUDIT_SO] = {"so %s", "因此，%s"},
    [MESSAGE_AUDIT_NONE] = {"%s: no findings", "%s：没有问题"},
    [MESSAGE_AUDIT_CLAIM] = {"%zu claim: %s", "%zu 份声明：%s"},
    [MESSAGE_AUDIT_CLAIMS] = {"%zu claims: %s", "%zu 份声明：%s"},
    [MESSAGE_AUDIT_NO_FINDINGS] = {"no findings", "没有问题"},
    [MESSAGE_AUDIT_ONE] = {"%zu finding (%s)", "%zu 个问题（%s）"},
    [MESSAGE_AUDIT_MANY] = {"%zu findings (%s)", "%zu 个问题（%s）"},
    [MESSAGE_AUDIT_KIND_ARITHMETIC] = {"arithmetic fault", "算术错误"},
    [MESSAGE_AUDIT_KIND_ARMS] = {"unlike arms", "对比条件不同"},
    [MESSAGE_AUDIT_KIND_NOISE] = {"below the noise", "低于噪声"},
    [MESSAGE_AUDIT_KIND_UNSUPPORTED] = {"unsupported statement", "缺乏依据"},
    [MESSAGE_AUDIT_KIND_CONDITION] = {"unstated condition", "条件未说明"},
    [MESSAGE_AUDIT_KINDS_ARITHMETIC] = {"arithmetic faults", "算术错误"},
    [MESSAGE_AUDIT_KINDS_UNSUPPORTED] = {"unsupported statements", "缺乏依据"},
    [MESSAGE_AUDIT_KINDS_CONDITION] = {"unstated conditions", "条件未说明"},
    [MESSAGE_LIST_SEPARATOR] = {", ", "、"},
    [MESSAGE_CLAUSE_SEPARATOR] = {"; ", "；"},
    [MESSAGE_QUOTED] = {"'%s'", "“%s”"},
    // How figures are set beside each other in it.
    [MESSAGE_AUDIT_LESS] = {"less", "更少"},
    [MESSAGE_AUDIT_MORE] = {"more", "更多"},
    [MESSAGE_AUDIT_TIMES_LESS] = {"%s times less", "仅为 1/%s"},
    [MESSAGE_AUDIT_TIMES_MORE] = {"%s times more", "为 %s 倍"},
    [MESSAGE_AUDIT_PERCENT_LESS] = {"%.2g %% less", "少 %.2g %%"},
    [MESSAGE_AUDIT_PERCENT_MORE] = {"%.2g %% more", "多 %.2g %%"},
    [MESSAGE_AUDIT_IN_TOTAL] = {"in total", "总计"},
    [MESSAGE_AUDIT_AN_EPOCH] = {"an epoch", "每轮"},
    [MESSAGE_AUDIT_A_BATCH] = {"a batch", "每批"},
    // What it finds. Behind each finding: the sums that show it, and _SO, what follows.
    [MESSAGE_AUDIT_NOT_MEASURED] = {"%s expected, never measured", "%s仅为预期，从未测量"},
    [MESSAGE_AUDIT_NOT_MEASURED_SO] =
        {"these rows are a guess, and so is every speed-up between them",
         "这些行只是猜测，它们之间的加速比也是猜测"},
    [MESSAGE_AUDIT_NO_SOURCE] = {"%s quoted without a source", "%s引用时未注明来源"},
    [MESSAGE_AUDIT_NO_SOURCE_SO] = {"nobody can check these figures or repeat the runs behind them",
                                    "无人能核对这些数字，也无法重复其背后的运行"},
    [MESSAGE_AUDIT_AND_MORE] = {"%s and %zu more", "%s以及另外 %zu 行"},
    [MESSAGE_AUDIT_ROWS_OF] = {"%zu of %zu rows", "%2$zu 行中的 %1$zu 行"},
    [MESSAGE_AUDIT_BATCHES_EPOCH] = {"'%s': the time of its batches is not that of an epoch",
                                     "“%s”：各批时间之和不等于一轮的时间"},
    [MESSAGE_AUDIT_BATCHES_TOTAL] = {"'%s': the time of its batches is not the total",
                                     "“%s”：各批时间之和不等于总时间"},
    [MESSAGE_AUDIT_EPOCHS_TOTAL] = {"'%s': the time of its epochs is not the total",
                                    "“%s”：各轮时间之和不等于总时间"},
    [MESSAGE_AUDIT_PHASES_TOTAL] = {"'%s': load and update of its steps are not the total",
                                    "“%s”：各步加载与更新时间之和不等于总时间"},
    [MESSAGE_AUDIT_STEPS_MS] = {"%s steps/epoch x %s ms", "%s 步/轮 × %s ms"},
    [MESSAGE_AUDIT_STEPS_EPOCHS_MS] = {"%s steps/epoch x %s epochs x %s ms",
                                       "%s 步/轮 × %s 轮 × %s ms"},
    [MESSAGE_AUDIT_EPOCHS_SECONDS] = {"%s epochs x %s s", "%s 轮 × %s s"},
    [MESSAGE_AUDIT_STEPS_PHASES] = {"%s steps/epoch x %s epochs x (%s + %s) s",
                                    "%s 步/轮 × %s 轮 × (%s + %s) s"},
    [MESSAGE_AUDIT_PARTS] = {"%s = %s s, stated %s s: %s", "%s = %s s，声称 %s s：%s"},
    [MESSAGE_AUDIT_PARTS_SO] =
        {"one of these figures is wrong, and no speed-up can rest on any of them",
         "其中某个数字有误，任何加速比都不能以它们为据"},
    [MESSAGE_AUDIT_REST_SO] = {"%s s are in none of these parts: what took them is not said",
                               "有 %s s 不属于其中任何一部分，去向未说明"},
    [MESSAGE_AUDIT_IMPLIED] = {"the other figures together imply a batch of %s, stated %s",
                               "由其余数字推得批量为 %s，声称 %s"},
    [MESSAGE_AUDIT_LEAST] =
        {"with loading spread over %s loader workers and hidden behind the update it "
         "is still %s s at least",
         "即使加载分给 %s 个加载线程并隐藏在更新之后，也至少需要 %s s"},
    [MESSAGE_AUDIT_BATCHES_BY_TIME] =
        {"the arms imply different batch sizes (by the time of a batch)",
         "由各组推得的批量互不相同（按每批时间）"},
    [MESSAGE_AUDIT_BATCHES_BY_PHASES] =
        {"the arms imply different batch sizes (by load and update)",
         "由各组推得的批量互不相同（按加载与更新时间）"},
    [MESSAGE_AUDIT_IMPLIES] = {"'%s' implies %s", "由 “%s” 推得 %s"},
    [MESSAGE_AUDIT_IMPLIES_STATED] = {"'%s' implies %s, stated %s", "由 “%s” 推得 %s，声称 %s"},
    [MESSAGE_AUDIT_BATCHES_SO] =
        {"the arms did not do the same work, or their times were not taken alike",
         "各组做的工作不同，或者计时方式不同"},
    [MESSAGE_AUDIT_GLOBAL] = {"'%s': its batch is not its global batch",
                              "“%s”：批量与全局批量不符"},
    [MESSAGE_AUDIT_GLOBAL_RANKS] = {"%s a rank x %s ranks = %s a step, stated %s",
                                    "每进程 %s × %s 个进程 = 每步 %s，声称 %s"},
    [MESSAGE_AUDIT_GLOBAL_SPLIT] = {"a batch of %s is split over the devices: %s a step, stated %s",
                                    "批量 %s 由各设备分摊：每步 %s，声称 %s"},
    [MESSAGE_AUDIT_GLOBAL_SO] =
        {"the number of updates and the learning rate a sample are not what they seem",
         "更新次数和每样本的学习率并非表面所示"},
    [MESSAGE_AUDIT_PROPORTION] = {"'%s': no number of samples gives its accuracy",
                                  "“%s”：没有任何样本数能得出这一准确率"},
    [MESSAGE_AUDIT_PROPORTION_SUM] =
        {"%s %% of %s = %.6g samples: %.0f are %.6g %%, %.0f are %.6g %%",
         "%2$s 的 %1$s %% = %3$.6g 个样本：%4$.0f 个是 %5$.6g %%，%6$.0f 个是 %7$.6g %%"},
    [MESSAGE_AUDIT_PROPORTION_SO] = {"the accuracy or the number of test samples is wrong",
                                     "准确率或测试样本数有误"},
    // Times: the statement itself, and how a basis reads.
    [MESSAGE_AUDIT_SLOWER] = {"'%s' slower than '%s'", "“%s” 比 “%s” 慢"},
    [MESSAGE_AUDIT_FASTER] = {"'%s' faster than '%s'", "“%s” 比 “%s” 快"},
    [MESSAGE_AUDIT_SLOWER_BY] = {"'%s' %s %% slower than '%s'", "“%1$s” 比 “%3$s” 慢 %2$s %%"},
    [MESSAGE_AUDIT_FASTER_BY] = {"'%s' %s %% faster than '%s'", "“%1$s” 比 “%3$s” 快 %2$s %%"},
    [MESSAGE_AUDIT_AS_SLOW] = {"'%s' %s times as slow as '%s'",
                               "“%1$s” 的耗时是 “%3$s” 的 %2$s 倍"},
    [MESSAGE_AUDIT_AS_FAST] = {"'%s' %s times as fast as '%s'",
                               "“%1$s” 的速度是 “%3$s” 的 %2$s 倍"},
    [MESSAGE_AUDIT_PERCENT_SLOWER] = {"%.3g %% slower, stated %s %%", "慢 %.3g %%，声称 %s %%"},
    [MESSAGE_AUDIT_PERCENT_FASTER] = {"%.3g %% faster, stated %s %%", "快 %.3g %%，声称 %s %%"},
    [MESSAGE_AUDIT_RATIO_SLOW] = {"%.3g times as slow", "耗时为 %.3g 倍"},
    [MESSAGE_AUDIT_RATIO_FAST] = {"%.3g times as fast", "速度为 %.3g 倍"},
    [MESSAGE_AUDIT_RATIO_STATED] = {"%s, stated %s: %s", "%s，声称 %s：%s"},
    [MESSAGE_AUDIT_BASIS] = {"%s / %s %s %s: %s", "%s / %s %s（%s）：%s"},
    [MESSAGE_AUDIT_NO_TIMES] = {"%s: no row has the times", "%s：没有任何行给出所需时间"},
    [MESSAGE_AUDIT_OF_DEVICES] = {"%s / (%s / %s devices) = %.2f of what the devices could give",
                                  "%s /（%s / %s 个设备）= 设备所能提供的 %.2f"},
    [MESSAGE_AUDIT_NO_TIMES_NOR_SOURCE_SO] = {"nobody can check it: no source is named either",
                                              "无人能核对：连来源也未注明"},
    [MESSAGE_AUDIT_ITS_SOURCE_SO] = {"it stands or falls with its source", "成立与否全看其来源"},
    [MESSAGE_AUDIT_NO_TIMES_SO] = {"nobody can check it", "无人能核对"},
    [MESSAGE_AUDIT_AMOUNT] = {"%s: the rows give something else", "%s：各行给出的并非如此"},
    [MESSAGE_AUDIT_AMOUNT_SO] =
        {"the figure is not that of the rows, and theirs is what was measured",
         "这个数字不是各行得出的，而各行才是测得的"},
    [MESSAGE_AUDIT_BASES] = {"'%s' and '%s': one comparison, different ratios",
                             "“%s” 与 “%s”：同一对比，比值却不同"},
    [MESSAGE_AUDIT_BASES_SUM] = {"%s / %s %s %s = %.4g", "%s / %s %s（%s）= %.4g"},
    [MESSAGE_AUDIT_BASES_SO] =
        {"one of these times is wrong: both arms took as many steps, so the ratios must be equal",
         "其中某个时间有误：两组步数相同，比值必须相等"},
    [MESSAGE_AUDIT_TWO] = {"'%s' and '%s': two figures for the same thing",
                           "“%s” 与 “%s”：同一件事有两个数字"},
    [MESSAGE_AUDIT_TWO_SUM] = {"%s; %s", "%s；%s"},
    [MESSAGE_AUDIT_TWO_TIMES] = {"that is %.4g and %.4g times the time",
                                 "即耗时分别为 %.4g 倍和 %.4g 倍"},
    [MESSAGE_AUDIT_TWO_SO] = {"a reader can pick whichever suits: at most one of them is right",
                              "读者可以任选合意的一个：至多有一个是对的"},
    // Arms.
    [MESSAGE_AUDIT_EPOCHS_SUM] = {"%s x %s s = %s s", "%s × %s s = %s s"},
    [MESSAGE_AUDIT_EPOCH_RATIO] = {"an epoch: %s / %s s = %.3g times as fast",
                                   "每轮：%s / %s s，速度为 %.3g 倍"},
    [MESSAGE_AUDIT_TOTAL_RATIO] = {"in total: %s; %s: %.3g times the time",
                                   "总计：%s；%s：耗时为 %.3g 倍"},
    [MESSAGE_AUDIT_UPDATES] = {"'%s': %s steps/epoch x %s epochs = %s updates",
                               "“%s”：%s 步/轮 × %s 轮 = %s 次更新"},
    [MESSAGE_AUDIT_AGAINST] = {"against '%s': %s / %s s = %.2f times as fast",
                               "相对 “%s”：%s / %s s，速度为 %.2f 倍"},
    [MESSAGE_AUDIT_LIKE_FOR_LIKE] = {"like for like, against '%s': %s / %s s = %.2f times as fast",
                                     "条件相同时，相对 “%s”：%s / %s s，速度为 %.2f 倍"},
    [MESSAGE_AUDIT_RATES] = {"'%s' and '%s' differ in the learning rate",
                             "“%s” 与 “%s” 的学习率不同"},
    [MESSAGE_AUDIT_RATES_SUM] = {"lr %s and %s", "学习率 %s 与 %s"},
    [MESSAGE_AUDIT_RATES_SO] = {"their accuracies differ by the learning rate too",
                                "准确率之差也来自学习率"},
    [MESSAGE_AUDIT_SIZES] = {"'%s' and '%s' differ in the global batch",
                             "“%s” 与 “%s” 的全局批量不同"},
    [MESSAGE_AUDIT_SIZES_ONE_RATE] =
        {"'%s' and '%s' differ in the global batch, with one learning rate",
         "“%s” 与 “%s” 的全局批量不同，学习率却相同"},
    [MESSAGE_AUDIT_SIZES_SUM] = {"global batch %s and %s: %s / %s = %.4g",
                                 "全局批量 %s 与 %s：%s / %s = %.4g"},
    [MESSAGE_AUDIT_UNSCALED] =
        {"lr %s for both; scaled linearly it would be %s x %.4g = %.4g for '%s'",
         "两者学习率均为 %1$s；若按线性缩放，“%5$s” 应为 %2$s × %3$.4g = %4$.4g"},
    [MESSAGE_AUDIT_SIZES_SO] = {"the times compare steps of unequal size",
                                "所比较的时间对应大小不同的步"},
    [MESSAGE_AUDIT_SIZES_ONE_RATE_SO] =
        {"the accuracies compare learning rates a sample, not ways to share out the work, and the "
         "times compare steps of unequal size",
         "准确率比较的是每样本的学习率，而不是分工方式；时间比较的是大小不同的步"},
    [MESSAGE_AUDIT_LOADER_WORKERS] = {"'%s' and '%s' differ in loader workers",
                                      "“%s” 与 “%s” 的加载线程数不同"},
    [MESSAGE_AUDIT_LOADER_WORKERS_SUM] = {"loader workers %s and %s", "加载线程数 %s 与 %s"},
    [MESSAGE_AUDIT_LOADER_WORKERS_SO] = {"the difference in time may be that of the loader alone",
                                         "时间之差可能仅来自数据加载"},
    [MESSAGE_AUDIT_LOADER_SO] = {"loader workers made the speed-up: like for like there is none",
                                 "加速来自加载线程：条件相同时并无加速"},
    [MESSAGE_AUDIT_DIFFER] = {"'%s' and '%s' differ in %s", "“%s” 与 “%s” 的 %s 不同"},
    [MESSAGE_AUDIT_DIFFER_SUM] = {"%s %s and %s", "%s：%s 与 %s"},
    [MESSAGE_AUDIT_LABELS_SUM] = {"%s '%s' and '%s'", "%s：“%s” 与 “%s”"},
    [MESSAGE_AUDIT_EPOCHS_SO] = {"a speed-up of an epoch is not one of the training",
                                 "一轮的加速不等于整个训练的加速"},
    [MESSAGE_AUDIT_DIFFER_SO] = {"the arms did not do the same work", "各组做的工作不同"},
    [MESSAGE_AUDIT_OPEN_BATCH] = {"'%s': batch %s of each of %s ranks, or of all together?",
                                  "“%1$s”：批量 %2$s 是 %3$s 个进程各自的，还是合计的？"},
    [MESSAGE_AUDIT_OPEN_BATCH_SUM] = {"%s a step, or %s x %s = %s", "每步 %s，或 %s × %s = %s"},
    [MESSAGE_AUDIT_OPEN_BATCH_SO] =
        {"it cannot be said whether the arms took steps of the same size",
         "无法判断各组每步的大小是否相同"},
    [MESSAGE_AUDIT_ONE_SIDED] = {"'%s' and '%s': %s is given for one of them only",
                                 "“%s” 与 “%s”：只有其一给出了 %s"},
    [MESSAGE_AUDIT_ONE_SIDED_SUM] = {"'%s': %s; '%s': not given", "“%s”：%s；“%s”：未给出"},
    [MESSAGE_AUDIT_ONE_SIDED_SO] = {"it cannot be said whether the arms were alike",
                                    "无法判断各组条件是否相同"},
    // Projections.
    [MESSAGE_AUDIT_NO_COMM] = {"'%s' projected to %s devices without communication",
                               "“%s” 推算到 %s 个设备时未计通信"},
    [MESSAGE_AUDIT_NO_COMM_DIVIDED] =
        {"%s / %.4g = %.4g %s %s, stated %s: nothing is left for communication",
         "%s / %.4g = %.4g %s（%s），声称 %s：没有给通信留下时间"},
    [MESSAGE_AUDIT_NO_COMM_RATIO] =
        {"%s times as fast %s is all that %.4g times the devices could give",
         "%2$s速度的 %1$s 倍，已是 %3$.4g 倍设备所能提供的全部"},
    [MESSAGE_AUDIT_NO_COMM_SO] = {"this is a bound that no machine reaches, not a measurement",
                                  "这是任何机器都达不到的上限，而不是测量结果"},
    [MESSAGE_AUDIT_PROJECTED] = {"'%s': the projected time %s does not follow from its own",
                                 "“%s”：推算的时间（%s）不能由其自身得出"},
    [MESSAGE_AUDIT_PROJECTED_SUM] = {"%s / %.4g = %s %s, stated %s %s: %s",
                                     "%s / %.4g = %s %s，声称 %s %s：%s"},
    [MESSAGE_AUDIT_PROJECTED_OTHER] =
        {"it is that of '%s' by the projected speed-up: %s / %s = %s %s",
         "它是 “%s” 除以推算的加速比：%s / %s = %s %s"},
    [MESSAGE_AUDIT_PROJECTED_SO] =
        {"the projected figures contradict each other: at most one of them is right",
         "推算的数字互相矛盾：至多有一个是对的"},
    [MESSAGE_AUDIT_PROJECTED_RATIO] = {"'%s': the projected speed-up is another",
                                       "“%s”：推算的加速比不符"},
    [MESSAGE_AUDIT_PROJECTED_RATIO_SUM] = {"%s / %s %s %s = %.3g, stated %s: %s",
                                           "%s / %s %s（%s）= %.3g，声称 %s：%s"},
    [MESSAGE_AUDIT_PROJECTED_RATIO_SO] = {"the speed-up does not follow from the projected time",
                                          "加速比不能由推算的时间得出"},
    // Other statements.
    [MESSAGE_AUDIT_NO_ROW] = {"a statement of kind '%s' names no row of the claim",
                              "类型为 “%s” 的陈述所指的行不存在"},
    [MESSAGE_AUDIT_NO_ROW_SUM] = {"'%s' is not among the %zu rows", "“%s” 不在 %zu 行之中"},
    [MESSAGE_AUDIT_NO_ROW_NEAR] = {"'%s' is not among the %zu rows: the nearest is '%s'",
                                   "“%s” 不在 %zu 行之中：最接近的是 “%s”"},
    [MESSAGE_AUDIT_NO_ROW_SO] = {"nothing supports the statement", "该陈述没有依据"},
    [MESSAGE_AUDIT_POINTS] = {"'%s' and '%s': their accuracies differ by something else",
                              "“%s” 与 “%s”：准确率之差并非如此"},
    [MESSAGE_AUDIT_POINTS_SUM] = {"%s - %s = %.4g points", "%s − %s = %.4g 个百分点"},
    [MESSAGE_AUDIT_POINTS_STATED] = {"%s - %s = %.4g points, stated %s",
                                     "%s − %s = %.4g 个百分点，声称 %s"},
    [MESSAGE_AUDIT_POINTS_SO] = {"the difference is not that of the rows", "这个差不是各行得出的"},
    [MESSAGE_AUDIT_TESTED] = {"'%s' and '%s': of how many test samples?",
                              "“%s” 与 “%s”：测试样本数是多少？"},
    [MESSAGE_AUDIT_TESTED_SO] = {"it cannot be said whether the difference is more than chance",
                                 "无法判断差异是否超出偶然"},
    [MESSAGE_AUDIT_NOISE] = {"'%s' and '%s' do not differ in accuracy",
                             "“%s” 与 “%s” 的准确率没有差异"},
    [MESSAGE_AUDIT_NOISE_SO] = {"chance alone gives as much: neither arm is shown to be better",
                                "偶然就能造成这样的差：不能说明哪一组更好"},
    [MESSAGE_AUDIT_UNEQUAL] = {"'%s' and '%s' are not equal in accuracy",
                               "“%s” 与 “%s” 的准确率并不相等"},
    [MESSAGE_AUDIT_UNEQUAL_SO] = {"chance does not explain the difference",
                                  "偶然不足以解释这一差异"},
    [MESSAGE_AUDIT_Z] = {"%s - %s = %.4g points of %s test samples: z = %.2f, p = %.2g",
                         "%s − %s = %.4g 个百分点，%s 个测试样本：z = %.2f，p = %.2g"},
    [MESSAGE_AUDIT_NO_ACCURACY] = {"'%s' and '%s': no row has both accuracies",
                                   "“%s” 与 “%s”：没有给出两者的准确率"},
    [MESSAGE_AUDIT_NO_ACCURACY_SO] = {"nobody can check the statement", "无人能核对该陈述"},
    [MESSAGE_AUDIT_NO_OVERHEAD] = {"'%s': no row has the time of a batch to compare",
                                   "“%s”：没有可供比较的每批时间"},
    [MESSAGE_AUDIT_NO_OVERHEAD_SUM] = {"stated %s ms", "声称 %s ms"},
    [MESSAGE_AUDIT_NO_OVERHEAD_SO] = {"nobody can check what the overhead is",
                                      "无人能核对开销是多少"},
    [MESSAGE_AUDIT_OVERHEAD] = {"'%s': the stated overhead is not the difference to '%s'",
                                "“%s”：声称的开销不等于与 “%s” 之差"},
    [MESSAGE_AUDIT_OVERHEAD_LEFT] =
        {"%s - %s = %.4g ms a batch, stated %s ms: %.4g ms without an explanation",
         "%s − %s = 每批 %.4g ms，声称 %s ms：有 %.4g ms 未作解释"},
    [MESSAGE_AUDIT_OVERHEAD_OVER] = {"%s - %s = %.4g ms a batch, stated %s ms: %.4g ms too much",
                                     "%s − %s = 每批 %.4g ms，声称 %s ms：多出 %.4g ms"},
    [MESSAGE_AUDIT_OVERHEAD_SO] = {"something else than what is named took the time",
                                   "占用时间的不是所说的原因"},
    [MESSAGE_AUDIT_BATCH_OPEN] = {"'%s': effective batch %s of what?",
                                  "“%s”：有效批量 %s 由何而来？"},
    [MESSAGE_AUDIT_BATCH_OPEN_SUM] = {"the row has no %s", "该行没有 %s"},
    [MESSAGE_AUDIT_BATCH_OPEN_SO] = {"the statement cannot be checked", "该陈述无法核对"},
    [MESSAGE_AUDIT_BATCH] = {"'%s': its effective batch is another", "“%s”：有效批量并非如此"},
    [MESSAGE_AUDIT_BATCH_SPLIT] =
        {"strategy %s splits the batch: %s a step, %s / %s = %.4g on each device",
         "策略 %s 会切分批量：每步 %s，%s / %s = 每个设备 %.4g"},
    [MESSAGE_AUDIT_BATCH_SUM] = {"%s samples a step, stated %s: %s", "每步 %s 个样本，声称 %s：%s"},
    [MESSAGE_AUDIT_BATCH_SO] =
        {"a learning rate scaled to the stated batch would be scaled for nothing",
         "按声称的批量缩放学习率，便是无缘无故的缩放"},
    [MESSAGE_AUDIT_CODE] = {"the code shown has another value of %s", "所示代码中 %s 的值不同"},
    [MESSAGE_AUDIT_CODE_SUM] = {"code: %s %s; text, '%s': %s", "代码：%s %s；正文 “%s”：%s"},
    [MESSAGE_AUDIT_CODE_SO] = {"the figures are not those of the code that is shown",
                               "这些数字不是由所示代码得出的"},
    [MESSAGE_AUDIT_NEEDS] = {"'%s': its code path needs more devices than it had",
                             "“%s”：其代码路径所需的设备多于实际所有"},
    [MESSAGE_AUDIT_NEEDS_SUM] = {"needs %s devices, ran on %s", "需要 %s 个设备，实际运行于 %s 个"},
    [MESSAGE_AUDIT_NEEDS_SO] = {"the arm ran the same code as one that is not parallel",
                                "这一组运行的代码与不并行的相同"},
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
