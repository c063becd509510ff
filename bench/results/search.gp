# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# gnuplot -e "folder='bench/results/search'" search.gp: draws the plots of search.md from the
# figures in `folder`, and writes them into that folder.

curves = folder.'/curves.csv'
set datafile separator ','
names = "exact exhaustive random_search metropolis_hastings coordinate_descent"
titles = "'exact' 'exhaustive' 'random' 'Metropolis-Hastings' 'coordinate descent'"
set style line 1 lc rgb '#000000' lw 3
set style line 2 lc rgb '#cc79a7' lw 2
set style line 3 lc rgb '#e69f00' lw 2
set style line 4 lc rgb '#0072b2' lw 2
set style line 5 lc rgb '#009e73' lw 2

rows(net, mesh, name) = sprintf("< grep '^%s,%s,%s,' '%s' || true", net, mesh, name, curves)
has_rows(mesh) = system(sprintf("grep -c ',%s,' '%s' || true", mesh, curves)) + 0

set terminal svg size 1150,640 font 'sans-serif,11' background rgb 'white'
set grid lc rgb '#dddddd'
set logscale x
set logscale y
set format x '10^{%T}'
set xlabel 'time / time of the exact search' offset 0,0.5
set ylabel 'above the optimum' offset 1.5,0
bottom = 0.01 # per cent; stands for the optimum itself on the logarithmic axis
above(cost) = cost - 1 > bottom / 100 ? 100 * (cost - 1) : bottom
set yrange [bottom * 0.7:20000]
set ytics ('0' 0.01, '0.1 %%' 0.1, '1 %%' 1, '3 %%' 3, '10 %%' 10, '100 %%' 100, '1000 %%' 1000, '10000 %%' 10000)

do for [k = 1:2] {
  mesh = k == 1 ? 'rack=8 node=8' : 'rack=4 node=4 host=4'
  if (has_rows(mesh) > 0) {
    set output folder.(k == 1 ? '/curves_8x8.svg' : '/curves_4x4x4.svg')
    set multiplot layout 2,3 title 'Cost of the best plan so far, 64 nodes as '.(k == 1 ? '8 x 8' : '4 x 4 x 4').': median, and what nine runs in ten lie within'
    do for [net in "alexnet vgg13 gpt dlrm dense"] {
      set title net offset 0,-0.7
      set xrange [0.3:*]
      unset key
      plot for [i = 2:5] rows(net, mesh, word(names, i)) using 4:(above($6)):(above($7)) with filledcurves ls i fs transparent solid 0.2 notitle, \
           for [i = 2:5] rows(net, mesh, word(names, i)) using 4:(above($5)) with lines ls i title word(titles, i), \
           rows(net, mesh, 'exact') using 4:(above($5)) with linespoints ls 1 pt 7 ps 0.7 title 'exact'
    }
    # There are five plots, one for each net. The legend fills the place of a sixth plot.
    unset title; unset border; unset tics; unset xlabel; unset ylabel; unset grid
    set key center center Left reverse spacing 1.6 font ',12'
    set xrange [1:10]
    plot NaN ls 1 title 'exact', NaN ls 2 title 'exhaustive', NaN ls 3 title 'random', NaN ls 4 title 'Metropolis-Hastings', NaN ls 5 title 'coordinate descent'
    unset multiplot
    set border; set tics; set grid lc rgb '#dddddd'
    set autoscale x
    set ytics ('0' 0.01, '0.1 %%' 0.1, '1 %%' 1, '3 %%' 3, '10 %%' 10, '100 %%' 100, '1000 %%' 1000, '10000 %%' 10000)
    set xlabel 'time / time of the exact search' offset 0,0.5
    set ylabel 'above the optimum' offset 1.5,0
  }
}
