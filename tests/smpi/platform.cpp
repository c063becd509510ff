// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Writes a SimGrid cluster for a mesh and a machine: FOLDER/platform.xml, and FOLDER/hosts with the
// host of each rank.
//
//   platform MESH MACHINE FOLDER          platform node=2,gpu=4 gpu_cluster /tmp/x
//
//   each rank   a host with a duplex link to the switch of its node, of bandwidth 1 / β intra
//   each node   a switch with a duplex link to the spine. The ranks of the node share this link.
//               Its bandwidth is 1 / β inter. If there is only one node, the cluster is a flat
//               crossbar.
//
// Links have no latency, because concurrent messages would wait for a latency only once. Instead,
// each message keeps the receiving rank busy for α (tests/smpi/message_costs.hpp). For a machine
// latency:NAME, links do have latencies:
//
//   links of ranks   α intra / 2
//   links of nodes   (α inter - α intra) / 2, so a path between two nodes has the latency α inter
//
// For two machines NAME+NAME, the nodes are of the first and of the second kind in turn. If the
// machine limits flows between nodes, the limit holds for each flow separately.
//
// For a machine pairs:NAME, the cluster is one node in which every two ranks have a separate duplex
// link, of bandwidth 1 / β intra.
//
// A path between nodes crosses a rank link, two node links and a rank link. The slowest or most
// heavily shared link determines the time, as in the formula of machine/link.hpp.

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <vector>

#include <smpi/machines.hpp>

#include <ashlar/mesh/text.hpp>

namespace {

/// Returns the node of a rank: its index along the axes between nodes.
int node_of(ashlar::topology const& t, int rank) {
  ashlar::axis_list between;
  for (int a = 0; a < t.axes(); ++a)
    if (t.axis[a].tier == ashlar::link_tier::inter_node)
      between.push_back(static_cast<signed char>(a));
  return t.index_in_group(t.coordinates_of(rank), between);
}

void write_platform(std::ostream& out, ashlar::topology const& t, std::string_view name) {
  bool const latencies = ashlar_test::has_latencies(name);
  auto const m = ashlar_test::machine_named(name);
  auto const [first, second] = ashlar_test::kinds_of_nodes(name);
  ashlar::machine const kinds[] = {ashlar_test::machine_named(first),
                                   ashlar_test::machine_named(second)};
  int const nodes = t.ranks() / t.ranks_per_node();
  double const rank_latency = latencies ? m.intra.alpha / 2 : 0;
  double const node_latency = latencies && nodes > 1 ? (m.inter.alpha - m.intra.alpha) / 2 : 0;
  if (node_latency < 0)
    throw ashlar::error("platform", "α between nodes is less than within a node.");
  out << std::setprecision(17)
      << "<?xml version=\"1.0\"?>\n"
         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n<zone id=\"world\" routing=\"Floyd\">\n";
  for (int n = 0; n < nodes; ++n)
    out << "<cluster id=\"node" << n << "\" prefix=\"n" << n << "r\" suffix=\"\" radical=\"0-"
        << t.ranks_per_node() - 1 << "\" speed=\"1Tf\" bw=\"" << 1 / kinds[n % 2].intra.beta
        << "Bps\" lat=\"" << rank_latency << "s\" router_id=\"switch" << n << "\"/>\n"
        << "<link id=\"nic" << n << "\" bandwidth=\"" << 1 / kinds[n % 2].inter.beta
        << "Bps\" latency=\"" << node_latency << "s\" sharing_policy=\"SPLITDUPLEX\"/>\n";
  if (m.flow > 0)
    out << "<link id=\"flow\" bandwidth=\"" << 1 / m.flow
        << "Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n";
  std::string const limit = m.flow > 0 ? "<link_ctn id=\"flow\"/>" : "";
  out << "<zone id=\"fabric\" routing=\"Full\"><router id=\"spine\"/></zone>\n";
  for (int n = 0; n < nodes; ++n)
    out << "<zoneRoute src=\"node" << n << "\" dst=\"fabric\" gw_src=\"switch" << n
        << "\" gw_dst=\"spine\" symmetrical=\"NO\"><link_ctn id=\"nic" << n
        << "\" direction=\"UP\"/>" << limit << "</zoneRoute>\n<zoneRoute src=\"fabric\" dst=\"node"
        << n << "\" gw_src=\"spine\" gw_dst=\"switch" << n
        << "\" symmetrical=\"NO\"><link_ctn id=\"nic" << n
        << "\" direction=\"DOWN\"/></zoneRoute>\n";
  out << "</zone>\n</platform>\n";
}

void write_links_of_pairs(std::ostream& out, ashlar::topology const& t, ashlar::machine const& m) {
  out << std::setprecision(17)
      << "<?xml version=\"1.0\"?>\n"
         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n<zone id=\"world\" routing=\"Full\">\n";
  for (int a = 0; a < t.ranks(); ++a) out << "<host id=\"n0r" << a << "\" speed=\"1Tf\"/>\n";
  for (int a = 0; a < t.ranks(); ++a)
    for (int b = 0; b < a; ++b)
      out << "<link id=\"pair" << a << '_' << b << "\" bandwidth=\"" << 1 / m.intra.beta
          << "Bps\" latency=\"0s\" sharing_policy=\"SPLITDUPLEX\"/>\n";
  for (int a = 0; a < t.ranks(); ++a)
    for (int b = 0; b < a; ++b)
      for (bool const up : {true, false})
        out << "<route src=\"n0r" << (up ? a : b) << "\" dst=\"n0r" << (up ? b : a)
            << "\" symmetrical=\"NO\"><link_ctn id=\"pair" << a << '_' << b << "\" direction=\""
            << (up ? "UP" : "DOWN") << "\"/></route>\n";
  out << "</zone>\n</platform>\n";
}

void write_hosts(std::ostream& out, ashlar::topology const& t) {
  std::vector<int> used(static_cast<std::size_t>(t.ranks()));
  for (int rank = 0; rank < t.ranks(); ++rank) {
    int const node = node_of(t, rank);
    out << 'n' << node << 'r' << used[static_cast<std::size_t>(node)]++ << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: platform MESH MACHINE FOLDER\n";
    return 2;
  }
  try {
    auto const t = ashlar::parse_topology(argv[1]);
    std::string const folder = argv[3];
    std::ofstream platform(folder + "/platform.xml"), hosts(folder + "/hosts");
    if (ashlar_test::has_links_of_pairs(argv[2]))
      write_links_of_pairs(platform, t, ashlar_test::machine_named(argv[2]));
    else write_platform(platform, t, argv[2]);
    write_hosts(hosts, t);
    if (platform.flush() && hosts.flush()) return 0;
    std::cerr << "platform: " << folder << ": cannot be written\n";
  } catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
  }
  return 1;
}
