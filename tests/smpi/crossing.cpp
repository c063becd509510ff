// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Moves tensors between parts of a mesh, as in figures 5, 6 and 8 of "On Optimizing the
// Communication of Model Parallelism". Compares the simulated seconds of the library's
// redistribute(x, other, placement), here called "ours", with those of the paper's strategies
// (crossing_strategies.hpp).
//
// The unit of time, t, is the time that the whole tensor needs to pass the link of one node. The
// following must hold:
//
//   figure 5, ours                   at most 1.05 t, for every receiving mesh
//   figure 5, strategies             within 5 % of their formulas
//   figures 6 and 8, ours            at most 1.03 times the bound
//   figure 8, naive and balanced     within 5 % of their computed times (support/table_2.hpp)
//   ours, always                     right values, and the bytes of the plan
//
// The arguments after mesh and machine are:
//
// - the divisor of the paper's tensor sizes, which should equal the divisor of the machine's α
//   (machines.hpp)
// - optionally the word "unbuffered". With it, messages cost no α, and a send waits for its
//   receive, so that a wrong order of messages causes a deadlock
// - receiving meshes of figure 5 (3x2: three nodes of two devices) and numbers of cases of table 2
//
// bench/run_crossing.sh runs all meshes and cases with a sixteenth of the paper's sizes.
//
// run: node=5,gpu=4 p3_8xlarge/512 512 1x3 3x2 4x2 1 4 6 8
// run: node=5,gpu=3 p3_8xlarge/512 512 unbuffered 1x2 3x2 8

#include <sched.h>
#include <smpi/crossing_strategies.hpp>
#include <smpi/message_costs.hpp>
#include <smpi/simulated.hpp>
#include <support/table_2.hpp>

#include <ashlar/plan/crossing/transfers.hpp>
#include <ashlar/tensor/cross_mesh.hpp>

namespace {

/// The simulated seconds between two polls of a rank that waits.
double nap = 1e-6;

/// The bytes of all receives that this rank has posted.
std::int64_t received_bytes = 0;

}  // namespace

/// Replaces the system's sched_yield, which a waiting rank of the library calls between two polls.
/// This version sleeps, and polls take no time. If polls took time, SMPI would charge growing costs
/// for every request in every poll.
extern "C" int sched_yield() noexcept {
  timespec const wait{0, static_cast<long>(nap * 1e9)};
  nanosleep(&wait, nullptr);
  return 0;
}

/// Replaces MPI_Irecv, and counts the bytes of the receives. Crossings receive only with MPI_Irecv.
extern "C" int MPI_Irecv(void* to, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  received_bytes += std::int64_t{count} * bytes;
  return PMPI_Irecv(to, count, type, source, tag, comm, request);
}

namespace {

using namespace ashlar_test;
using tensor = ashlar::tensor<float, 3>;

/// Calls visit(element of the shard, its value) for all elements. Values are small integers.
template <class Visit>
void for_each_value(tensor const& x, Visit visit) {
  auto const& b = x.local_box();
  std::int64_t at = 0;
  for (auto i = b[0].begin; i < b[0].end(); ++i)
    for (auto j = b[1].begin; j < b[1].end(); ++j) {
      std::int64_t const row = (i * x.extents()[1] + j) * x.extents()[2] + b[2].begin;
      for (std::int64_t k = 0; k < b[2].size; ++k)
        visit(x.data()[at++], static_cast<float>((row + k) % 8191));
    }
}

/// Runs `call` on all ranks, starting at the same time. Returns, on all ranks, the seconds of the
/// slowest rank.
template <class Call>
double slowest_seconds(Call call) {
  MPI_Barrier(MPI_COMM_WORLD);  // idle ranks may be here long before the others
  meet();
  double const begin = MPI_Wtime();
  call();
  double const mine = MPI_Wtime() - begin;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// Counts the bytes between nodes, and finds the busiest node.
class node_bytes {
 public:
  explicit node_bytes(ashlar::topology const& whole)
      : nodes_(whole), out_(static_cast<std::size_t>(nodes_.nodes())), in_(out_) {}
  void add(int from, int to, std::int64_t bytes) {
    if (nodes_.node(from) == nodes_.node(to)) return;
    out_[static_cast<std::size_t>(nodes_.node(from))] += bytes;
    in_[static_cast<std::size_t>(nodes_.node(to))] += bytes;
  }
  double most() const {
    return double(std::max(*std::max_element(out_.begin(), out_.end()),
                           *std::max_element(in_.begin(), in_.end())));
  }

 private:
  ashlar::nodes_of_mesh nodes_;
  std::vector<std::int64_t> out_, in_;
};

/// A tensor, two parts of the mesh, and the placements between which the tensor moves.
class subject {
 public:
  subject(ashlar::mesh const& whole, std::string name, ashlar::shape const& extents,
          std::vector<int> const& senders, ashlar::topology const& source, char const* from,
          std::vector<int> const& receivers, ashlar::topology const& target, char const* to,
          verdict& all)
      : whole_(whole), source_(whole.part(senders, source)), target_(whole.part(receivers, target)),
        extents_(extents), from_(ashlar::parse_placement(from)), to_(ashlar::parse_placement(to)),
        name_(std::move(name)), all_(&all),
        tasks_(ashlar::unit_tasks(extents, source_.as_part(), from_, target_.as_part(), to_)),
        ports_(ashlar::ports_of(tasks_, whole.topology())) {}

  /// Returns the unit t: the seconds that the whole tensor needs to pass the link of a node.
  double unit() const {
    return double(extents_.elements()) * sizeof(float) * whole_.machine().inter.beta;
  }
  double bound() const {
    return double(least_elements(ports_.between)) / double(extents_.elements());
  }
  ashlar::port_problem const& ports() const { return ports_.between; }

  /// Moves the tensor by redistribute(), and checks the values and bytes. Returns the time in units
  /// of t.
  double ours() {
    tensor x(source_, extents_, from_);
    for_each_value(x, [](float& element, float value) { element = value; });
    auto const plan = plan_redistribution(x, target_, to_).plan;
    std::int64_t planned = 0;  // bytes that this rank receives
    node_bytes bytes(whole_.topology());
    for_each_transfer(plan.across, whole_.topology(), [&](ashlar::crossing_transfer const& t) {
      bytes.add(t.from, t.to, t.size * std::int64_t{sizeof(float)});
      if (t.to == whole_.rank()) planned += t.size * std::int64_t{sizeof(float)};
    });
    all_->check(plan.before.is_local() && plan.after.is_local(),
                name_ + ": the crossing is not all that communicates");
    tensor y(target_, extents_, to_);
    received_bytes = 0;
    double const seconds = slowest_seconds([&] { y = redistribute(x, target_, to_); });
    all_->check(received_bytes == planned, name_ + ": the bytes are not those of the plan");
    bool right = true;
    for_each_value(y, [&](float element, float value) { right = right && element == value; });
    all_->check(right, name_ + ": wrong values");
    if (whole_.rank() == 0)
      std::printf("# %s: simulated / planned %.4f, %d chunks\n", name_.c_str(),
                  seconds / plan.seconds, plan.across.chunks);
    return report("ours", seconds, bytes.most());
  }

  /// Moves the tensor by one of the paper's strategies. Returns the time in units of t.
  double by(char const* label, strategy how, ashlar::list_order const& order, bool in_turns,
            bool exclusive) {
    auto const list = strategy_list(how, tasks_, order, in_turns, exclusive, sizeof(float),
                                    whole_.topology());
    node_bytes bytes(whole_.topology());
    std::int64_t received = 0;
    for (auto const& task : list)
      for (auto const& m : task.messages) {
        bytes.add(m.from, m.to, m.bytes);
        if (m.to == whole_.rank()) received += m.bytes;
      }
    all_->check(received == (target_.is_here() ? wanted() : 0), name_ + ": bytes of " + label);
    strategy_runner runner(MPI_COMM_WORLD, whole_.topology(), whole_.machine());
    return report(label, slowest_seconds([&] { runner.run(list); }), bytes.most());
  }

  /// Returns the order of the paper's baselines: the tasks in the given order, each sent by the
  /// node that has sent the fewest elements so far.
  ashlar::list_order given_order() const {
    auto order = ashlar::balanced_order(ports_.between);
    // The tasks need not be sorted by size, because all tasks of a case have nearly the same size.
    std::map<int, std::int64_t> load;
    for (std::size_t i = 0; i < order.tasks.size(); ++i) {
      auto const& t = ports_.between.tasks[i];
      order.tasks[i] = static_cast<int>(i);
      order.senders[i] = *std::min_element(t.senders.begin(), t.senders.end(),
                                           [&](int a, int b) { return load[a] < load[b]; });
      load[order.senders[i]] += t.size;
    }
    return order;
  }

  void check(bool right, std::string const& what) {
    if (whole_.rank() == 0) all_->check(right, name_ + ": " + what);
  }

 private:
  std::int64_t wanted() const {
    return local_box(extents_, target_.topology(), to_, target_.coordinate()).elements() *
           std::int64_t{sizeof(float)};
  }
  double report(char const* label, double seconds, double bytes) {
    double const units = seconds / unit();
    if (whole_.rank() == 0)
      std::printf("%s,%s,%.4f,%.4f\n", name_.c_str(), label, units,
                  bytes / double(extents_.elements()) / sizeof(float));
    return units;
  }

  ashlar::mesh whole_, source_, target_;
  ashlar::shape extents_;
  ashlar::placement from_, to_;
  std::string name_;
  verdict* all_;
  std::vector<ashlar::unit_task> tasks_;
  ashlar::crossing_ports ports_;
};

bool is_near(double a, double b) { return a <= 1.05 * b && b <= 1.05 * a; }

void figure_5(ashlar::mesh const& whole, std::int64_t divisor, int nodes, int devices,
              verdict& all) {
  // The paper's tensor has 2^28 elements.
  subject s(whole, std::to_string(nodes) + "x" + std::to_string(devices),
            {{256, 1024, 1024 / divisor}}, {0}, {{"node", 1}, {"gpu", 1}}, "B,B",
            ranks_of_nodes(whole.topology(), 1, nodes, devices),
            {{"node", nodes}, {"gpu", devices}}, "B,B", all);
  auto const order = s.given_order();
  s.check(s.ours() <= 1.05, "ours takes more than 1.05 t");
  double const send = s.by("send/recv", strategy::send_receive, order, false, false);
  double const inside = s.by("local all-gather", strategy::gather_inside, order, false, false);
  double const everywhere = s.by("global all-gather", strategy::gather_all, order, false, false);
  double const chain = s.by("broadcast", strategy::broadcast, order, false, false);
  int const ranks = nodes * devices;
  s.check(is_near(send, ranks), "send/recv");
  s.check(is_near(inside, nodes), "local all-gather");
  // The paper states 2 t, which is the limit for many ranks. Gathering within a node takes hardly
  // any time.
  s.check(is_near(everywhere, nodes == 1 ? 1 : 2 - 1. / ranks), "global all-gather");
  s.check(is_near(chain, 1 + nodes / 100.), "broadcast");
}

void figure_6(ashlar::mesh const& whole, std::int64_t divisor, int number, verdict& all) {
  auto const& c = table_2[number - 1];
  auto const& t = whole.topology();
  // The paper's tensor has 1024 x 1024 x 512 elements.
  subject s(whole, "case " + std::to_string(number), {{1024, 512, 1024 / divisor}},
            ranks_of_nodes(t, 0, c.send[0], c.send[1]), {{"node", c.send[0]}, {"gpu", c.send[1]}},
            c.from, ranks_of_nodes(t, c.send[0], c.receive[0], c.receive[1]),
            {{"node", c.receive[0]}, {"gpu", c.receive[1]}}, c.to, all);
  s.check(is_near(s.bound(), c.bound), "the bound is not that of the table");
  s.check(s.ours() <= 1.03 * c.bound, "ours takes more than 1.03 times the bound");
  auto const order = s.given_order();
  s.by("send/recv", strategy::send_receive, order, true, false);
  s.by("local all-gather", strategy::gather_inside, order, false, true);
  s.by("local all-gather at once", strategy::gather_inside, order, true, false);
  s.by("global all-gather", strategy::gather_all, order, false, true);
  double const naive = s.by("naive", strategy::broadcast, ashlar::naive_order(s.ports()), false,
                            true);
  double const balanced = s.by("balanced", strategy::broadcast, ashlar::balanced_order(s.ports()),
                               false, true);
  s.check(is_near(naive, c.naive), "naive");
  s.check(is_near(balanced, c.balanced), "balanced");
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  bool const buffered = given.rest.at(1) != "unbuffered";
  if (buffered) charge_each_message(given.machine);
  for (auto const* name : {"smpi/test", "smpi/iprobe"}) simgrid::config::set_value<double>(name, 0);
  nap = 4 * given.machine.inter.alpha;
  ashlar::mesh const whole(env.world(), given.topology, given.machine);
  verdict all;
  for (std::size_t i = buffered ? 1 : 2; i < given.rest.size(); ++i) {
    auto const& what = given.rest[i];
    auto const cross = what.find('x');
    if (cross == what.npos) figure_6(whole, given.number(0), std::stoi(what), all);
    else figure_5(whole, given.number(0), std::stoi(what), std::stoi(what.substr(cross + 1)), all);
  }
  return all.exit_code();
}
