// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks an array that a program gives as its rank's shard of a tensor, for from_local,
// borrow_local and from_dlpack. An array is accepted if
//
//   its extents      are those of the shard that the placement gives this rank
//   its strides      are those of a row-major array without gaps
//   its address      is not null, and a multiple of the alignment of the elements; an array without
//                    elements may have any address
//
// Each refusal throws ashlar::error, which names the operation and says what does not fit.

#include <cstdint>
#include <string>

#include <ashlar/tensor/strided_view.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar::detail {

/// Throws the error that the number of values is not that of the rank's shard. `tensor` describes
/// the tensor.
[[noreturn]] inline void refuse_count(char const* operation, std::size_t count, int rank,
                                      shape const& local, std::string const& tensor) {
  throw error(operation, std::to_string(count) + " values do not fill rank " +
                             std::to_string(rank) + "'s shard " + to_string(local) + " of " +
                             tensor + ". Pass this rank's part only, or the whole to from_full.");
}

class given_shard {
 public:
  /// Prepares the checks of an array for this rank of the mesh. The mesh must outlive this object.
  /// Throws ashlar::error if the placement does not fit the extents or the mesh, or if the extents
  /// do not have `rank` dims or are those of a routed tensor.
  template <class Processor>
  given_shard(char const* operation, basic_mesh<Processor> const& m, shape const& extents,
              placement const& p, int rank)
      : operation_(operation), extents_(extents), placement_(p), axes_(&m.topology()),
        local_(shard_box(m, extents, p, rank)), rank_(m.rank()) {
    if (extents.is_routed())
      refuse("an array cannot be the shard of a routed " + tensor() +
             ", whose size depends on the routes. Make it with dispatch.");
  }

  void require_count(std::size_t count) const {
    if (count != static_cast<std::size_t>(local_.elements()))
      refuse_count(operation_, count, rank_, local_.extents(), tensor());
  }

  template <class T, int Rank>
  void require_row_major(strided_view<T, Rank> const& v) const {
    shape extents, strides;
    for (int d = 0; d < Rank; ++d) {
      extents.extent.push_back(v.extents[static_cast<std::size_t>(d)]);
      strides.extent.push_back(v.strides[static_cast<std::size_t>(d)]);
    }
    if (!(extents == local_.extents()))
      refuse("an array of extents " + to_string(extents) + " is not " + name() +
             ". Pass this rank's part only.");
    if (!v.is_row_major())
      refuse("an array of extents " + to_string(extents) + " has strides " + to_string(strides) +
             ", but a shard is row-major without gaps. Copy the values to such an array, and pass "
             "it to from_local.");
  }

  template <class T>
  void require_address(T const* data) const {
    if (local_.elements() == 0) return;
    if (data == nullptr)
      refuse("the address is null, but " + name() + " has " + std::to_string(local_.elements()) +
             " elements. Pass the address of this rank's values.");
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
      refuse("the address is not a multiple of " + std::to_string(alignof(T)) +
             " bytes, the alignment of the elements. Copy the values to an aligned array, and pass "
             "it to from_local.");
  }

  [[noreturn]] void refuse(std::string const& why) const { throw error(operation_, why); }

  /// Returns a text such as "rank 1's shard 3x4 of tensor 6x4 [S(0)]@gpu=2".
  std::string name() const {
    return "rank " + std::to_string(rank_) + "'s shard " + to_string(local_.extents()) + " of " +
           tensor();
  }

 private:
  std::string tensor() const {
    return "tensor " + to_string(extents_) + " " + to_string(placement_, *axes_);
  }

  char const* operation_;
  shape extents_;
  placement placement_;
  topology const* axes_;
  box local_;
  int rank_;
};

}  // namespace ashlar::detail
