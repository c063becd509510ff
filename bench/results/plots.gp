# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# gnuplot -e "folder='bench/results/movement'" plots.gp: draws the plots of movement.md from the
# figures in `folder`, and writes them into that folder.

redistribute = folder.'/redistribute.csv'
matmul = folder.'/matmul.csv'
steps = "'all-gather dim 0' 'reduce-scatter dim 0' 'all-reduce' 'all-to-all 0 to 1' 'permute'"

set datafile separator ','
set style line 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.6
set style line 2 lc rgb '#d55e00' lw 2 pt 5 ps 0.6
set style line 3 lc rgb '#009e73' lw 2 pt 9 ps 0.7
set style line 4 lc rgb '#cc79a7' lw 2 pt 11 ps 0.7
set style line 5 lc rgb '#56b4e9' lw 2 pt 13 ps 0.7
set style line 9 lc rgb '#666666' lw 1 dt 2

# Returns a command that prints a line "BYTES,VALUE" for each size of one case under one setting.
# `y` is the name of the column with the values.
rows(memory, ranks, case, y) = sprintf("< awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} $c[\"memory\"] == \"%s\" && $c[\"transport\"] == \"default\" && $c[\"ranks\"] == %d && $c[\"case\"] == \"%s\" && $c[\"%s\"] != \"-\" {print $c[\"bytes\"] \",\" $c[\"%s\"]}' '%s'", memory, ranks, case, y, y, redistribute)
has_rows(memory, ranks) = system(sprintf("grep -c '^%d,%s,default,' '%s' || true", ranks, memory, redistribute)) + 0

set logscale x 2
set logscale y 2
set xtics ('4K' 4096, '64K' 65536, '1M' 1048576, '16M' 16777216, '128M' 134217728)
set xrange [2048:268435456]
set grid lc rgb '#dddddd'

do for [memory in "off default"] {
  set terminal svg size 1080,360 font 'sans-serif,11' background rgb 'white'
  set output folder.'/steps_'.memory.'.svg'
  limit = memory eq 'off' ? 0.95 : 2
  set multiplot layout 1,3 title memory eq 'off' ? 'Messages only: time of the bare MPI call / ours (above the dashed line: target met)' : 'Ranks of one node: time of the bare MPI call / ours (above the dashed line: target met)'
  do for [ranks in "2 4 8"] {
    set title ranks.' ranks'
    set key top left Left reverse samplen 2 font ',9' opaque
    set yrange [0.125:512]
    if (has_rows(memory, ranks + 0) > 0) {
      plot for [i = 1:5] rows(memory, ranks + 0, word(steps, i), 'bare/ours') using 1:2 with linespoints ls i title word(steps, i), \
           limit with lines ls 9 notitle
    } else {
      plot limit with lines ls 9 title 'not measured'
    }
  }
  unset multiplot
  unset title
}

set terminal svg size 720,400 font 'sans-serif,11' background rgb 'white'
set output folder.'/reduce_scatter.svg'
set title 'Reduce-scatter along dim 0: time of MPI\_Reduce\_scatter\_block / ours'
set yrange [0.125:256]
set key top left Left reverse samplen 3
plot for [i = 1:3] rows('off', word("2 4 8", i) + 0, 'reduce-scatter dim 0', 'block/ours') using 1:2 with linespoints ls i dt 2 title word("2 4 8", i).' ranks, messages', \
     for [i = 1:3] rows('default', word("2 4 8", i) + 0, 'reduce-scatter dim 0', 'block/ours') using 1:2 with linespoints ls i title word("2 4 8", i).' ranks, one node', \
     3 with lines ls 9 title 'targets: 3 and 10', 10 with lines ls 9 notitle

# Returns a command that prints, for each shape, the shares of the dgemm rate that the contestants
# reach. They become a group of bars.
bars(ranks) = sprintf("< awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next} $c[\"memory\"] == \"default\" && $c[\"transport\"] == \"default\" && $c[\"type\"] == \"double\" && $c[\"ranks\"] == %d {r = $c[\"roof_gflops\"]; print $c[\"shape\"] \",\" $c[\"free_gflops\"] / r \",\" $c[\"scalapack_gflops\"] / r \",\" $c[\"cosma_gflops\"] / r \",\" $c[\"given_gflops\"] / r \",\" $c[\"cosma_pdgemm_gflops\"] / r}' '%s'", ranks, matmul)
has_bars(ranks) = system(sprintf("grep -c '^%d,default,default,double' '%s' || true", ranks, matmul)) + 0
unset logscale
set xrange [*:*]
set yrange [0:1.3]
set xtics autofreq rotate by -20 font ',9'
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set terminal svg size 1080,960 font 'sans-serif,11' background rgb 'white'
set output folder.'/matmul.svg'
set multiplot layout 3,1 title 'Matrix products in double: share of what dgemm reaches on all ranks at once'
do for [ranks in "2 4 8"] {
  set title ranks.' ranks'
  set key outside right top
  if (has_bars(ranks + 0) > 0) {
    plot bars(ranks + 0) using 2:xtic(1) ls 1 title 'ashlar, free', '' using 3 ls 2 title 'ScaLAPACK', \
         '' using 4 ls 3 title 'COSMA', '' using 5 ls 5 title 'ashlar, given', '' using 6 ls 4 title 'COSMA pdgemm'
  } else {
    plot [0:1] 1 with lines ls 9 title 'not measured'
  }
}
unset multiplot
