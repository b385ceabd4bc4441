"""Small treebanks in three formats."""

MILL = (
    "1\tVamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\t_\tCase=Acc\t1\texpl\t_\t_\n"
    "3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_\n"
    "4\tel\tel\tDET\t_\tDefinite=Def\t5\tdet\t_\t_\n"
    "5\tmolino\tmolino\tNOUN\t_\t_\t1\tobl\t_\t_\n"
    "6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_\n"
    "\n"
    "1\tpan y\tpan y\tNOUN\t_\t_\t0\troot\t_\t_\n"
    "2\t20 000\t20 000\tNUM\t_\t_\t1\tnummod\t_\t_\n"
    "\n"
)
PROJECTIVE = "1\ta\tb\tC\tD\te|f\t2\tg\t0\th\n2\ti\tj\tK\tL\t_\t0\tm\t_\t_\n\n"
P_COLUMNS = (
    "1\ta\tb\tB\tC\tD\te\tE\t2\t0\tg\tG\t_\t_\tA0\n"
    "2\ti\t_\tj\tk\tK\t_\t_\t0\t1\tm\tM\tY\tp.1\t_\n\n"
)
