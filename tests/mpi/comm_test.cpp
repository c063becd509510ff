// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests the transfers of a mesh along every group of axes. The bits of the result and the number of
// received bytes must not depend on whether a transfer blocks or runs in the background, nor on
// whether it uses shared memory or messages. Also tests nested communication logs, and meshes that
// forbid communication.

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>
#include <support/traffic_check.hpp>
#include <support/transport.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::collective;
using ashlar::element_type;
using ashlar::sbp;

/// Returns the communicating steps of all redistribution plans between placements in which each
/// axis is S(0), S(1), B or P.
std::vector<ashlar::redistribution_step> all_steps_on(ashlar::topology const& t,
                                                      ashlar::shape const& extents) {
  std::vector<ashlar::redistribution_step> steps;
  ashlar::axis_placement const roles[] = {ashlar::split(0), ashlar::split(1), ashlar::broadcast(),
                                          ashlar::partial()};
  std::vector<ashlar::placement> all{ashlar::placement{}};
  for (int a = 0; a < t.axes(); ++a) {
    std::vector<ashlar::placement> longer;
    for (auto const& p : all)
      for (auto const& role : roles) {
        auto q = p;
        q.axis.push_back(role);
        if (role.is_split()) q.axis[a].depth = static_cast<signed char>(p.split_count(role.dim));
        longer.push_back(q);
      }
    all = std::move(longer);
  }
  for (auto const& [from, to] : all_combinations(all, all))
    for (auto const& s :
         ashlar::plan_redistribution(extents, 4, from, to, t, ashlar::machines::workstation).steps)
      if (communicates(s.kind) && std::find(steps.begin(), steps.end(), s) == steps.end())
        steps.push_back(s);
  return steps;
}

/// A shard in the mesh's memory, with values whose sum depends on the order of addition.
struct floats {
  ashlar::mesh m;
  std::size_t count;
  float* data;

  floats(ashlar::mesh const& on, std::int64_t elements)
      : m(on), count(static_cast<std::size_t>(elements)),
        data(static_cast<float*>(m.memory().allocate(count * sizeof(float)))) {
    for (std::size_t i = 0; i < count; ++i)
      data[i] = float((i * 7919 + 104729 * std::size_t(m.rank())) % 1009) *
                (i % 3 == 0 ? 1e6f : 0.1f);
  }
  floats(floats const&) = delete;
  ~floats() { m.memory().release(data, count * sizeof(float)); }
  std::vector<float> values() const { return {data, data + count}; }
};

/// The first shape is large: its all-reduce in shared memory has two phases, and its transfers by
/// messages have several chunks. The other shapes are small.
ashlar::shape const shapes_moved[] = {{613, 311}, {7, 5}, {1, 3}, {0, 4}};

}  // namespace

TEST_CASE("blocking or in the background, by shared memory or messages: equal bits and the "
          "recorded bytes") {
  for (auto const& t : topologies(world_size())) {
    if (t.axes() > 2) continue;  // meshes of one and two axes already cover all kinds of steps
    auto const direct = mesh_on(transport::shared_memory, t);
    auto const messages = mesh_on(transport::messages, t);
    for (auto const& extents : shapes_moved)
      for (auto const& s : all_steps_on(t, extents)) {
        if (&extents == shapes_moved && t.axes() > 1 && s.axes.size() == 1)
          continue;  // meshes with one axis already cover steps along a single axis
        auto const what = make_transfer(s, extents, t, direct.coordinate());
        std::vector<std::vector<float>> results;
        for (auto const* m : {&direct, &messages}) {
          floats const source(*m, what.from.elements());
          floats const at_once(*m, what.to.elements()), background(*m, what.to.elements());
          traffic_check traffic(*m,
                                m == &messages ? transport::messages : transport::shared_memory);
          m->run(what, element_type::f32, source.data, at_once.data);
          auto const records = traffic.log().records();
          CHECK(traffic.difference(records) == "");
          REQUIRE(records.size() == 1);
          CHECK(records[0].kind == s.kind);
          CHECK(records[0].axes == s.axes);
          CHECK(records[0].received_bytes ==
                step_traffic(s, extents, t, m->coordinate()).elements * 4);
          traffic.clear();
          auto const pending = m->start(
              {&what, element_type::f32, source.data, background.data, m->take_ticket(what)});
          while (!pending->advance()) std::this_thread::yield();
          CHECK(traffic.difference(records) == "");
          results.push_back(at_once.values());
          results.push_back(background.values());
        }
        for (auto const& r : results)
          CHECK_MESSAGE(r == results[0], to_string(s.kind) << " along " << to_string(s.axes, t));
      }
  }
}

TEST_CASE("several transfers of one group and of others are pending; dropping one ends it") {
  ashlar::topology const t = topologies(world_size()).back();
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, t);
    ashlar::shape const extents{64, 96};
    std::vector<ashlar::transfer> whats;
    for (auto const& s : all_steps_on(t, extents))
      whats.push_back(make_transfer(s, extents, t, m.coordinate()));
    std::vector<std::unique_ptr<floats>> sources, background, at_once;
    std::vector<std::unique_ptr<ashlar::pending_operation>> pending;
    for (auto const& what : whats) {
      sources.push_back(std::make_unique<floats>(m, what.from.elements()));
      background.push_back(std::make_unique<floats>(m, what.to.elements()));
      at_once.push_back(std::make_unique<floats>(m, what.to.elements()));
      pending.push_back(m.start({&what, element_type::f32, sources.back()->data,
                                 background.back()->data, m.take_ticket(what)}));
    }
    // Each of these blocking transfers must wait for the pending transfers.
    for (std::size_t i = 0; i < whats.size(); ++i)
      m.run(whats[i], element_type::f32, sources[i]->data, at_once[i]->data);
    while (!pending.empty()) pending.pop_back();
    CHECK(m.operations().idle());
    for (std::size_t i = 0; i < whats.size(); ++i)
      CHECK(background[i]->values() == at_once[i]->values());
  }
}

TEST_CASE("if one shard is not in shared memory, the whole group uses messages") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}}, ashlar::machines::workstation,
                       {.bytes_per_rank = 64 * 1024});
  auto const plenty = mesh_on(transport::shared_memory, m.topology());
  // The last rank fills its shared-memory region. The next shard of that rank is then in ordinary
  // memory.
  std::vector<std::unique_ptr<floats>> fill;
  auto const has_room = [&] {
    return fill.empty() || m.memory().offset_in_region(fill.back()->data) >= 0;
  };
  while (m.rank() == m.ranks() - 1 && has_room()) fill.push_back(std::make_unique<floats>(m, 1));
  for (ashlar::placement const to : {ashlar::placement{ashlar::broadcast()}, {ashlar::split(0)}}) {
    std::vector<std::vector<float>> values;
    for (auto const* on : {&m, &plenty}) {
      auto const partial = placed<float, 2>(*on, dense({90, 70}, 0.7), {ashlar::partial()});
      auto const moved = counted_redistribute(
          partial, to, on == &m ? transport::messages : transport::shared_memory);
      values.emplace_back(moved.local().begin(), moved.local().end());
    }
    CHECK(values[0] == values[1]);
  }
}

TEST_CASE("a window smaller than one page holds no shard") {
  for (std::int64_t const bytes : {0, 1, 4095}) {
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}}, ashlar::machines::workstation,
                         {.bytes_per_rank = bytes});
    auto const values = dense({9, 7}, 2);
    auto const x = placed<float, 2>(m, values, {ashlar::partial()});
    CHECK(m.memory().offset_in_region(x.data()) < 0);
    CHECK(wrong_with(counted_redistribute(x, ashlar::placement{ashlar::split(1)}), values) == "");
    CHECK(wrong_with(redistribute_async(x, ashlar::placement{ashlar::broadcast()}).wait(),
                     values) == "");
  }
}

TEST_CASE("small all-reduces in place, one after the other") {
  ashlar::topology const t{{"gpu", world_size()}};
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, t);
    // This array is so small that every rank could read it directly from all other ranks. If the
    // all-reduce is in place, such reads would race with the results that the other ranks write.
    std::int64_t const n = 8000;
    auto const what = ashlar::flat_all_reduce(n, {0}, t, m.coordinate(), ashlar::reduction::sum);
    int wrong = 0;
    for (int round = 0; round < 100; ++round) {
      floats const values(m, n);
      std::fill_n(values.data, n, 1.0f);
      m.run(what, element_type::f32, values.data, values.data);
      auto const sums = values.values();
      wrong += std::count(sums.begin(), sums.end(), float(world_size())) == n ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("if settings differ, those of the first rank are used") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int const without : {0, world_size() - 1}) {
    ashlar::shared::settings const off{.bytes_per_rank = 0}, on{.bytes_per_rank = 1 << 20};
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}}, ashlar::machines::workstation,
                         rank == without ? off : on);
    auto const x = ashlar::full<float>(m, {8, 8}, sbp<S<0>>{}, 1) | ashlar::to<B>;
    CHECK(x.local().back() == 1);
    CHECK((m.memory().offset_in_region(x.data()) >= 0) == (without != 0));
  }
}

TEST_CASE("wrong settings on one rank are the same error on all ranks") {
  ashlar::topology const t{{"gpu", world_size()}};
  std::string const advice = ". Give off, or bytes per rank such as 512MiB or 4GiB; at most 64TiB.";
  for (int const wrong : {0, world_size() - 1}) {
    bool const is_here = world_rank() == wrong;
    std::string const on = "mesh: on rank " + std::to_string(wrong);
    for (std::string const text : {"lots", "0x10", "-1", "65TiB"}) {
      scoped_environment const setting("ASHLAR_SHARED_MEMORY", is_here ? text.c_str() : "1MiB");
      CHECK(message_of([&] { ashlar::mesh(MPI_COMM_WORLD, t); }) ==
            on + ": ASHLAR_SHARED_MEMORY is '" + text + "'" + advice);
    }
    ashlar::shared::settings const s{.bytes_per_rank = is_here ? -7 : 1 << 20};
    CHECK(message_of([&] { ashlar::mesh(MPI_COMM_WORLD, t, ashlar::machines::workstation, s); }) ==
          on + ": the requested shared memory is -7 bytes per rank" + advice);
  }
  // If several ranks have wrong settings, the error is about the setting of the lowest of these
  // ranks.
  scoped_environment const setting("ASHLAR_SHARED_MEMORY",
                                   ("x" + std::to_string(world_rank())).c_str());
  CHECK(message_of([&] { ashlar::mesh(MPI_COMM_WORLD, t); }) ==
        "mesh: on rank 0: ASHLAR_SHARED_MEMORY is 'x0'" + advice);
}

TEST_CASE("after an exception dropped a transfer the mesh refuses others instead of waiting") {
  ashlar::topology const t{{"gpu", world_size()}};
  auto const m = mesh_on(transport::messages, t);
  auto const what = ashlar::flat_all_reduce(4, {0}, t, m.coordinate(), ashlar::reduction::sum);
  floats const values(m, 4);
  try {
    (void)m.take_ticket(what);  // an unused ticket, so the next transfer cannot begin
    auto const pending = m.start(
        {&what, element_type::f32, values.data, values.data, m.take_ticket(what)});
    throw std::runtime_error("meanwhile");
  } catch (std::runtime_error const&) {
  }
  CHECK(m.operations().idle());
  CHECK(has(message_of([&] { m.run(what, element_type::f32, values.data, values.data); }),
            "an exception dropped a transfer"));
}

TEST_CASE("an exception that drops messages does not wait for ranks that never begin") {
  int const n = world_size();
  if (n == 1) return;
  ashlar::topology const t{{"gpu", n}};
  shared_folder const folder;
  for (char const* take : {"pairwise", "ring", "library"}) {
    std::string const name = (folder.path() / take).string();
    if (world_rank() == 0) std::ofstream(name) << "all-reduce 2 0 any " << take << '\n';
    scoped_environment const setting("ASHLAR_COLLECTIVES", name.c_str());
    auto const m = mesh_on(transport::messages, t);
    auto const what = ashlar::flat_all_reduce(64, {0}, t, m.coordinate(), ashlar::reduction::sum);
    auto const ticket = m.take_ticket(what);
    if (m.rank() == 0) {
      auto target = std::make_unique<floats>(m, 64);
      float* const dropped = target->data;
      try {
        floats const source(m, 64);
        auto const pending = m.start({&what, element_type::f32, source.data, target->data, ticket});
        throw std::runtime_error("meanwhile");
      } catch (std::runtime_error const&) {
      }
      // Messages of the dropped transfer may still arrive in the memory of `target`, so this memory
      // must not be reused.
      CHECK(m.memory().is_retired());
      target.reset();
      floats const other(m, 64);
      CHECK(other.data != dropped);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_CASE("neighbours of a rank on which an exception ended a transfer get an error instead of "
          "waiting forever") {
  int const n = world_size();
  if (n == 1) return;
  ashlar::topology const t{{"gpu", n}};
  enum class ended { handle, mesh, before_its_turn };
  for (auto const what : {ended::handle, ended::mesh, ended::before_its_turn})
    for (auto const& [elements, asynchronous] :
         // Tensors of 8 elements are copied through staging buffers. The others are read in place.
         {std::pair{8, false}, {8, true}, {1 << 17, false}, {1 << 17, true}}) {
      bool const eager = elements == 8;
      std::optional<ashlar::mesh> m(mesh_on(transport::shared_memory, t));
      int const gone = n - 1;
      std::string const expected = "all-gather: an exception on rank ";
      bool const leaves = world_rank() == gone;
      if (leaves) {
        try {
          auto const here = what == ended::mesh ? std::exchange(m, {}) : m;
          auto const x = ashlar::full<float>(*here, {elements}, sbp<S<0>>{}, 1);
          if (what == ended::before_its_turn) throw std::runtime_error("meanwhile");
          auto const moving = redistribute_async(x, sbp<B>{});
          throw std::runtime_error("meanwhile");
        } catch (std::runtime_error const&) {
        }
        if (what == ended::before_its_turn) m->operations().abandon();
        if (what == ended::handle) MPI_Barrier(MPI_COMM_WORLD);
      } else {
        // Waits for the exception on the leaving rank. Without this wait, the transfer of that rank
        // might end normally before the exception.
        if (what == ended::handle) MPI_Barrier(MPI_COMM_WORLD);
        auto const x = ashlar::full<float>(*m, {elements}, sbp<S<0>>{}, 1);
        std::optional<ashlar::tensor<float, 1, sbp<B>>> y;
        auto const message = message_of([&, asynchronous = asynchronous] {
          if (asynchronous) y = redistribute_async(x, sbp<B>{}).wait();
          else y = x | ashlar::to<B>;
        });
        // The transfer may succeed in two cases: the leaving rank was the last one to begin the
        // transfer, or the data of the leaving rank was already in a staging buffer.
        if (y && (what == ended::mesh || (eager && what == ended::handle)))
          CHECK(std::count(y->local().begin(), y->local().end(), 1.0f) == elements);
        else CHECK_MESSAGE(message.starts_with(expected), message);
        CHECK(has(message_of([&] { (void)(x | ashlar::to<B>); }), "Create a new mesh."));
      }
      if (leaves && m)
        CHECK(has(message_of([&] {
                    m->take_ticket(ashlar::flat_all_reduce(4, {0}, t, m->coordinate(),
                                                           ashlar::reduction::sum));
                  }),
                  "Create a new mesh."));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  auto const m = mesh_on(transport::shared_memory, t);
  auto const x = ashlar::full<float>(m, {8}, sbp<S<0>>{}, 1) | ashlar::to<B>;
  CHECK(x.local().back() == 1);
}

TEST_CASE("a handle dropped while a neighbour has abandoned the mesh ends without throwing") {
  int const n = world_size();
  if (n == 1) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", n}});
  auto const x = ashlar::full<float>(m, {8}, sbp<S<0>>{}, 1);
  if (m.rank() == 0) m.operations().abandon();
  else (void)message_of([&] { (void)redistribute_async(x, sbp<B>{}); });  // starting may throw
  CHECK(has(message_of([&] { (void)(x | ashlar::to<B>); }), "Create a new mesh."));
  CHECK(m.operations().idle());
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("a transfer within a destructor that an exception runs ends in order") {
  ashlar::topology const t{{"gpu", world_size()}};
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, t);
    struct gathers {
      ashlar::mesh const& m;
      ~gathers() {
        (void)redistribute_async(ashlar::full<float>(m, {8}, sbp<S<0>>{}, 1), sbp<B>{});
      }
    };
    try {
      gathers const last{m};
      throw std::runtime_error("meanwhile");
    } catch (std::runtime_error const&) {
    }
    auto const x = ashlar::full<float>(m, {8}, sbp<S<0>>{}, 1) | ashlar::to<B>;
    CHECK(x.local().back() == 1);
  }
}

TEST_CASE("a blocking transfer that fails leaves a mesh that refuses others") {
  ashlar::topology const t{{"gpu", world_size()}};
  auto const m = mesh_on(transport::messages, t);
  struct fails final : ashlar::pending_operation {
    bool advance() override { throw std::runtime_error("meanwhile"); }
  } failing;
  auto const what = ashlar::flat_all_reduce(4, {0}, t, m.coordinate(), ashlar::reduction::sum);
  floats const values(m, 4);
  m.operations().add(failing);
  (void)m.take_ticket(what);  // an unused ticket, so the next transfer waits and polls
  CHECK_THROWS_AS(m.run(what, element_type::f32, values.data, values.data), std::runtime_error);
  m.operations().remove(failing);
  CHECK(has(message_of([&] { m.run(what, element_type::f32, values.data, values.data); }),
            "an exception dropped a transfer"));
}

TEST_CASE("a mesh knows the ranks of its node, also where they share no memory") {
  int on_node = 0;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  for (auto const& s : {ashlar::shared::settings{.bytes_per_rank = 0},
                        {.bytes_per_rank = 1 << 20},
                        {.bytes_per_rank = 1 << 20, .ranks_per_node = 1}}) {
    ashlar::mpi::collective_handles handles(MPI_COMM_WORLD);
    ashlar::mpi::shared_window const window(handles, s);
    CHECK(window.ranks_on_node() == on_node);
  }
  using ashlar::mpi::waiting;
  auto const cores = static_cast<int>(std::thread::hardware_concurrency());
  CHECK(waiting::patience_of(cores) > waiting::patience_of(cores + 1));
}

TEST_CASE("logs nest, and end with their scope") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {8, 8}, sbp<S<0>>{}, 1);
  ashlar::communication_log outer(m);
  {
    ashlar::communication_log const inner(m);
    (void)(x | ashlar::to<B>);
    CHECK(inner.records().size() == 1);
    CHECK(inner.records() == outer.records());
    CHECK(inner.records()[0].kind == collective::all_gather);
    CHECK(inner.received_bytes() == (64 - x.local_elements()) * 4);
  }
  (void)(x | ashlar::to<S<1>>);
  CHECK(outer.records().size() == 2);
  outer.clear();
  CHECK(outer.records().empty());
  CHECK(outer.received_bytes() == 0);
}

TEST_CASE("where communication is forbidden, both forms of transfer are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"node", 1}, {"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {8, 8}, sbp<B, S<0>>{}, 1);
  std::string const expected =
      "mesh: communication is forbidden here, but all-gather along gpu was requested.";
  {
    ashlar::no_communication const outer(m);
    {
      ashlar::no_communication const inner(m);
      CHECK(message_of([&] { (void)(x | ashlar::to<B, B>); }) == expected);
    }
    ashlar::redistribution_step const gather{
        collective::all_gather, {1}, x.placement(), ashlar::placement::all_broadcast(2)};
    auto const what = make_transfer(gather, x.extents(), m.topology(), m.coordinate());
    CHECK(message_of([&] { m.take_ticket(what); }) == expected);
    CHECK(message_of([&] { ashlar::redistribute_async(x, sbp<B, B>{}); }) == expected);
    CHECK(m.operations().idle());
    (void)(x | ashlar::to<S<1>, S<0>>);  // a slice needs no communication
  }
  CHECK(to_string((x | ashlar::to<B, B>).placement()) == "[B,B]");
}

TEST_CASE("time spent in transfers adds up") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  CHECK(m.communication_seconds() == 0);
  (void)(ashlar::full<float>(m, {64, 64}, sbp<S<0>>{}, 1) | ashlar::to<B>);
  double const once = m.communication_seconds();
  CHECK(once > 0);
  (void)(ashlar::full<float>(m, {64, 64}, sbp<S<0>>{}, 1) | ashlar::to<B>);
  CHECK(m.communication_seconds() > once);
  m.barrier();
}

TEST_CASE("time spent in progress() is time spent in transfers") {
  auto const m = mesh_on(transport::messages, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {64, 64}, sbp<S<0>>{}, 1);
  auto const moving = redistribute_async(x, sbp<S<1>>{});
  double const begun = m.communication_seconds();
  bool const is_under_way = !m.operations().idle();
  while (!m.operations().idle()) m.progress();
  if (is_under_way) CHECK(m.communication_seconds() > begun);
}

}  // namespace ashlar_test
