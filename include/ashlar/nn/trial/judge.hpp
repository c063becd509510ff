// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares the results of a layer's passes on the ranks of a mesh with the results in one process,
// for nn::verify. The first result in one process counts as right. (finite_differences.hpp checks
// the gradients separately.) If another pass makes the same tensor, its result is compared with the
// first one.

#include <sstream>

#include <ashlar/nn/trial/values.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn::detail {

inline std::string number_text(double v) {
  std::ostringstream out;
  out.precision(7);
  out << v;
  return out.str();
}

/// The right values of a layer's tensors, by the names of the tensors.
class truth {
 public:
  explicit truth(double tolerance) : tolerance_(tolerance) {}

  std::map<std::string, whole_values>& known() { return known_; }

  /// Compares `shards`, the shards of all ranks at placement `p`, with the right values of the
  /// tensor `what`. Returns the right values. If no right values are known yet, takes them from the
  /// first shard. Throws ashlar::error if the shards do not match them, or if a value that it takes
  /// is not a number.
  whole_values const& judge(std::string const& where, std::string const& pass,
                            std::string const& what, std::vector<host_tensor> const& shards,
                            placement const& p) {
    auto const [at, is_new] = known_.try_emplace(what);
    if (is_new) at->second = {shards[0].extents(), shard_values(shards[0])};
    auto const& right = at->second;
    for (std::size_t i = 0; is_new && i < right.values.size(); ++i)
      if (std::isnan(right.values[i]))
        throw error("nn::verify", where + ": " + what + index_text(right.extents, std::int64_t(i)) +
                                      " of " + pass + not_a_number);
    auto const wrong = compare(shards, p, right, tolerance_);
    if (!wrong) return right;
    std::string text = where + ": " + what + " of " + pass + " is wrong: ";
    bool const sum = p.has_partial();
    if (shards.size() > 1)
      text += sum ? std::string("the ") + to_string(p.op()) + " over the ranks of "
                  : "on rank " + std::to_string(wrong->rank) + " ";
    text += what + index_text(right.extents, wrong->index);
    if (std::isnan(wrong->found)) throw error("nn::verify", text + not_a_number);
    text += " is " + number_text(wrong->found) + ", " +
            (shards.size() > 1 ? "one process computes " : "the passes before it compute ") +
            number_text(wrong->expected) + '.';
    throw error("nn::verify", text + hint(shards, p, right));
  }

  void judge_total(std::string const& where, double sum) {
    auto const [at, is_new] = known_.try_emplace("the summed loss",
                                                 whole_values{{}, std::vector<double>{sum}});
    double const right = at->second.values[0];
    if (!is_near(sum, right, tolerance_, std::abs(right)))
      throw error("nn::verify", where +
                                    ": the summed loss of forward is wrong: the ranks' shares "
                                    "add up to " +
                                    number_text(sum) + ", but one process has " +
                                    number_text(right) + ".");
  }

 private:
  static constexpr char const* not_a_number = " is not a number: the pass does not write it, reads "
                                              "beyond a shard, or the layer has no value "
                                              "there.";

  /// Returns a sentence that names another placement at which the shards would be right, or an
  /// empty string if there is none. Tries only placements without a split, and only if the mesh has
  /// one axis and `p` is not a split.
  std::string hint(std::vector<host_tensor> const& shards, placement const& p,
                   whole_values const& right) const {
    if (p.axes() != 1 || p[0].is_split() || shards.size() == 1) return "";
    for (auto const& role :
         {broadcast(), partial(), partial(reduction::max), partial(reduction::min)}) {
      placement const other{role};
      if (!(other == p) && !compare(shards, other, right, tolerance_))
        return " The shards are right as " + to_string(role) + ", but the row says " +
               to_string(p[0]) + ".";
    }
    return "";
  }

  double tolerance_;
  std::map<std::string, whole_values> known_;
};

/// Compares the results of one trial with the right values. simulated_layer.hpp calls this function
/// object with the results of a layer's passes.
struct judge {
  truth& known;
  std::string where;

  whole_values const& operator()(std::string const& pass, std::string const& what,
                                 std::vector<host_tensor> const& shards, placement const& p) {
    return known.judge(where, pass, what, shards, p);
  }
  void total(double sum) { known.judge_total(where, sum); }
};

}  // namespace ashlar::nn::detail
