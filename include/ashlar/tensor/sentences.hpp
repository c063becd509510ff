// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The error messages of the operators. For placements that do not fit, the same text is the
// compiler's message for typed operands and the exception's message for dynamic ones. The messages
// are macros because static_assert accepts only a string literal. Each message says what is wrong
// and what to write instead, and each has a test in tests/compile_fail.

#define ASHLAR_SAYS_MATMUL_PARTIAL_PARTIAL                                                         \
  "matmul: both operands are partial on one mesh axis, and a product of sums is not the sum of "   \
  "the products. Reduce one of them first, as in matmul(x | to<...>, w)."
#define ASHLAR_SAYS_MATMUL_AXES                                                                    \
  "matmul: the operands have different numbers of placements, so they are on different meshes. "   \
  "Give both one placement per axis of one mesh."
#define ASHLAR_SAYS_MATMUL_OPERANDS                                                                \
  "matmul: the operands are not two tensors of two dimensions, or two of three, or a matrix and "  \
  "a "                                                                                             \
  "vector, of one element type, on one type of processor and with one tag. To move x to the part " \
  "of w, write "                                                                                   \
  "redistribute(x, w.mesh(), sbp<...>{})."
#define ASHLAR_SAYS_MATMUL_CONTRACTION                                                             \
  "matmul: the contracted dimension is not split by the same axes in the same order on both "      \
  "operands. Split it in the same way on both, or let ashlar plan it: matmul<sbp<...>>(x, w)."
#define ASHLAR_SAYS_MATMUL_NO_RULE                                                                 \
  "matmul: on one mesh axis these placements need communication. Redistribute an operand with "    \
  "x | to<...>, or let ashlar plan it: matmul<sbp<...>>(x, w)."
#define ASHLAR_SAYS_MATVEC_CONTRACTION                                                             \
  "matmul: the vector is not split by the same axes in the same order as the dimension of the "    \
  "matrix that is summed over. Split it in the same way, as in matmul(a, x | to<...>)."
#define ASHLAR_SAYS_MATVEC_NO_RULE                                                                 \
  "matmul: on one mesh axis this matrix and this vector need communication. Redistribute one of "  \
  "them first, as in matmul(a, x | to<...>)."
#define ASHLAR_SAYS_MATMUL_ROUTED                                                                  \
  "matmul: on one mesh axis the rows and the matrices of the experts do not fit. Rows of split "   \
  "tokens take whole matrices, and split experts have their rows: move the rows first, as in "     \
  "matmul(r | to<S<1>, ...>, w)."
#define ASHLAR_SAYS_DISPATCH                                                                       \
  "dispatch: the operand is a partial maximum or minimum, but the sum of its rows needs values "   \
  "or "                                                                                            \
  "a partial sum. Reduce it first, as in dispatch(x | to<B, ...>, routes)."
// The messages with parameters are for several operators. `name` is the operator that was written,
// and `fix` is what to write instead.
#define ASHLAR_SAYS_MAP_PARTIAL(name, fix)                                                         \
  name ": a non-linear map of a partial tensor is wrong, since f(a + b) is not f(a) + f(b). "      \
       "Reduce "                                                                                   \
       "it first, as in " fix "."
#define ASHLAR_SAYS_ADD(name, op)                                                                  \
  name                                                                                             \
      ": the operands have different placements on one mesh axis (a broadcast operand added to a " \
      "partial one would count once per rank). Bring them to one placement first, as in x " op     \
      " (y | to<...>)."
#define ASHLAR_SAYS_MULTIPLY                                                                       \
  "multiply: on one mesh axis the operands have different placements or are both partial. Bring "  \
  "them to one placement, or make one of two partial operands broadcast, as in x * (y | to<...>)."
#define ASHLAR_SAYS_DIVIDE                                                                         \
  "divide: on one mesh axis the operands have different placements, or the divisor is partial. "   \
  "Reduce a partial divisor and bring both to one placement, as in x / (y | to<...>); a "          \
  "partial x may be divided by a broadcast y."
#define ASHLAR_SAYS_IN_PLACE(name, op)                                                             \
  name                                                                                             \
      ": on one mesh axis the result would not lie as x does, and x stays where it is. Bring the " \
      "right operand to a placement that fits first, as in x " op " (y | to<...>)."
#define ASHLAR_SAYS_SHIFT(name, fix)                                                               \
  name                                                                                             \
      ": a number is not added to the addends of a partial tensor, since it would count once per " \
      "rank. Reduce it first, as in " fix "."
#define ASHLAR_SAYS_DOT                                                                            \
  "dot: on one mesh axis the operands have different placements or are both partial. Bring them "  \
  "to one placement, or make one of two partial operands broadcast, as in dot(x, y | to<...>)."
#define ASHLAR_SAYS_NORM                                                                           \
  "norm: the norm of a partial tensor is not the sum of the norms of its addends. Reduce it "      \
  "first, "                                                                                        \
  "as in norm(x | to<B, ...>)."
#define ASHLAR_SAYS_ITEM                                                                           \
  "item: the tensor is not whole on every rank, so a rank may have an addend or nothing. Bring "   \
  "it "                                                                                            \
  "to every rank first, as in item(x | to<B, ...>)."
#define ASHLAR_SAYS_MAP_ALIKE                                                                      \
  "map: on one mesh axis the operands are partial or placed differently. Bring them to one "       \
  "placement first, as in map(f, x, y | to<...>)."
#define ASHLAR_SAYS_MAP_ON_HOST                                                                    \
  "map: a function of several tensors is called on the host only. Combine operators that a "       \
  "device "                                                                                        \
  "has, or write a kernel (device/cuda/launch/map_function.cuh)."
#define ASHLAR_SAYS_DIVIDE_INTEGERS                                                                \
  "divide: a quotient of integers would be rounded, and the sum of rounded parts is not the "      \
  "rounded sum. Make the tensor of float, double or bfloat16."
#define ASHLAR_SAYS_FRACTION(name)                                                                 \
  name                                                                                             \
      ": a tensor of integers takes no fraction, since its digits after the point would be lost. " \
      "Write an integer, as in 2 instead of 2.0, or make the tensor of float or double."
#define ASHLAR_SAYS_REDUCE(name, fix)                                                              \
  name ": the operand is partial with another reduction than the requested one, and they do not "  \
       "commute. Reduce it first, as in " fix "."
#define ASHLAR_SAYS_SOFTMAX                                                                        \
  "softmax: the last dimension is split, or the tensor is partial, but the sum of a row needs "    \
  "the complete row. Gather it first, as in softmax(x | to<B, ...>)."
#define ASHLAR_SAYS_SCALE(name, fix)                                                               \
  name                                                                                             \
      ": a partial maximum or minimum cannot be scaled addend by addend, since a negative factor " \
      "swaps the two. Reduce it first, as in " fix "."
// The text that says what to write in place of `x op a`, for a partial x and a number a.
#define ASHLAR_IN_PLACE_OF_NUMBER(op) "auto y = x | to<B, ...>; y " op " a"
#define ASHLAR_SAYS_SOFTMAX_INTEGERS                                                               \
  "softmax: the probabilities are not integers. Make the tensor of float, double or bfloat16."
#define ASHLAR_SAYS_FUNCTION_INTEGERS(name)                                                        \
  name ": its values are not integers. Make the tensor of float, double or bfloat16."
#define ASHLAR_SAYS_RANDOM_INTEGERS                                                                \
  "normal, uniform: random tensors must be of float, double or bfloat16. Make integers with "      \
  "from_index."
#define ASHLAR_SAYS_MATMUL_INTEGERS                                                                \
  "matmul: there is no product of integer matrices. Make the operands of float, double or "        \
  "bfloat16."
#define ASHLAR_SAYS_LOCAL_ON_DEVICE                                                                \
  "local: the shard is in a device's memory, where the host's loops cannot read. Copy it with "    \
  "local_values(x) or to_full(x), or give data() to kernels of the device."
#define ASHLAR_SAYS_LOCAL_PARTIAL                                                                  \
  "local: the shard of a partial tensor has addends, not values. Reduce the tensor first, as in "  \
  "x | to<B, ...>, or read the addends with x.local_addends()."
#define ASHLAR_SAYS_ALIKE(name)                                                                    \
  name ": the operands are not tensors of one element type and one number of dimensions, on one "  \
       "type of processor and with one tag. Convert one with cast<...>, or move x to the part of " \
       "y "                                                                                        \
       "with redistribute(x, y.mesh(), sbp<...>{})."
#define ASHLAR_SAYS_COMBINABLE(name)                                                               \
  name                                                                                             \
      ": the operands are not tensors of one element type, on one type of processor and with one " \
      "tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, "          \
      "y.mesh(), "                                                                                 \
      "sbp<...>{})."
#define ASHLAR_SAYS_EQUALITY                                                                       \
  "equal: x == y and x != y would be masks, not a bool. Write equal(x, y) or 1 - equal(x, y)."
#define ASHLAR_SAYS_REPEATED_AS(name, fix)                                                         \
  name ": on one mesh axis the operands do not fit. Their dimensions are matched from the last "   \
       "one on; an axis that splits a dimension of one splits it on the other too, or is B where " \
       "the other is repeated along it, as in " fix "."
#define ASHLAR_SAYS_REPEATED(name, op) ASHLAR_SAYS_REPEATED_AS(name, "x " op " (y | to<...>)")
#define ASHLAR_SAYS_IN_PLACE_DIMS(name)                                                            \
  name ": the right operand has more dimensions than x, whose extents stay. Write z = x + y "      \
       "instead, or the like."
#define ASHLAR_SAYS_PERMUTE                                                                        \
  "permute: the numbers are not an order of the tensor's dimensions. Name each dimension once, "   \
  "counted from 0: permute<2, 0, 1>(x) for a tensor of three."
#define ASHLAR_SAYS_TRANSPOSE                                                                      \
  "transpose: the tensor is not a matrix. Name the two dimensions to swap, as in "                 \
  "transpose<1, 2>(x)."
#define ASHLAR_SAYS_AXES                                                                           \
  "redistribute: wrong number of axes. Give one placement per mesh axis: to<S<0>, B> on a mesh "   \
  "of two."
#define ASHLAR_SAYS_UNKNOWN_AXIS                                                                   \
  "the mesh has no axis of this name. Write one of the names that the mesh was made with."
#define ASHLAR_SAYS_AXIS_TWICE                                                                     \
  "an axis is named twice. Give each axis one placement, as in to<on<\"gpu\", S<0>>>."
#define ASHLAR_SAYS_SOME_AXES_NAMED                                                                \
  "to: some placements have the name of their axis and some have not. Name each, as in "           \
  "to<on<\"gpu\", S<0>>>, or none."
#define ASHLAR_SAYS_AXES_OF_LIST                                                                   \
  "to: mesh_axes<...> has another number of axes than the tensor's mesh. List the names of all "   \
  "axes, in the mesh's order."
#define ASHLAR_SAYS_PLACEMENT                                                                      \
  "the placement does not fit the tensor. Split only dimensions it has, number the shard depths "  \
  "of a dimension 0, 1, ..., each once, and use one kind of reduction."
#define ASHLAR_SAYS_OWNED                                                                          \
  "an owned operand has its values on one rank of an axis, where no operator computes with them. " \
  "Redistribute it first, as in x | to<B, ...>."
#define ASHLAR_SAYS_NO_DIMENSION                                                                   \
  "the tensor does not have this dimension. Dimensions count from 0 to rank - 1."
#define ASHLAR_SAYS_RANK "a tensor has at most 5 dimensions. Merge some first: merge_axes<0>(x)."
#define ASHLAR_SAYS_RESHAPE_AXES                                                                   \
  "reshape: wrong number of axes. Give one placement per mesh axis of the tensor: "                \
  "reshape<sbp<S<0>, B>>(x, {...}) on a mesh of two."
#define ASHLAR_SAYS_RESHAPE_PARTIAL                                                                \
  "reshape: partial axes stay partial and no other axis becomes partial. Redistribute before or "  \
  "after it, as in reshape<...>(x | to<B, ...>, {...})."
#define ASHLAR_SAYS_CONCAT                                                                         \
  "concat: the tensors differ in element type, number of dimensions or placement. Bring them to "  \
  "one placement first, as in concat<0>(x, y | to<...>)."
#define ASHLAR_SAYS_COMPARE(name, fix)                                                             \
  name ": on one mesh axis the operands are partial or placed differently, and how the addends "   \
       "compare does not say how the sums do. Bring both to one placement first, as in " fix "."
#define ASHLAR_SAYS_COMPARE_NUMBER(name)                                                           \
  name ": how the addends of a partial tensor compare with a number does not say how their sum "   \
       "does. Reduce it first, with x | to<B, ...>."
#define ASHLAR_SAYS_EXTREMUM(name)                                                                 \
  name ": on one mesh axis the operands are partial sums or placed differently. Bring both to "    \
       "one placement first, as in " name "(x, y | to<...>)."
#define ASHLAR_SAYS_EXTREMUM_NUMBER(name)                                                          \
  name ": the operand is a partial sum, and the extremum of a sum and a number is not the sum of " \
       "extrema. Reduce it first, as in " name "(x | to<B, ...>, a)."
#define ASHLAR_SAYS_WHERE                                                                          \
  "where: on one mesh axis the mask is partial, or the operands are placed differently. Bring "    \
  "them to one placement first, as in where(mask, x, y | to<...>); a broadcast mask takes two "    \
  "partial tensors."
#define ASHLAR_SAYS_WHERE_OPERANDS                                                                 \
  "where: it takes a mask and two tensors of one element type, or one tensor and a number, all "   \
  "on one type of processor."
#define ASHLAR_SAYS_ON_HOST(name) name ": devices have no kernel for it, so it runs on the host."
#define ASHLAR_SAYS_CAST                                                                           \
  "cast: the operand is partial, and the conversion of a sum is not the sum of the conversions, "  \
  "since numbers are rounded or wrap around. Reduce it first, as in cast<float>(x | to<B, ...>)."
#define ASHLAR_SAYS_MEAN_INTEGERS                                                                  \
  "mean: the mean of integers is not an integer. Convert them first, as in "                       \
  "mean<0>(cast<double>(x))."
#define ASHLAR_SAYS_ARG(name)                                                                      \
  name ": the dimension is split, or the tensor is partial, and the index of an element in a "     \
       "shard is not its index in the tensor. Gather it first, as in " name "<0>(x | to<B, ...>)."
#define ASHLAR_SAYS_ARG_OF_ALL(name)                                                               \
  name ": the tensor is not whole on every rank, and the index of an element in a shard is not "   \
       "its "                                                                                      \
       "index in the tensor. Bring it to every rank first, as in " name "(x | to<B, ...>)."
#define ASHLAR_SAYS_CUMULATIVE                                                                     \
  "cumulative_sum: the dimension is split, so a rank lacks the sums of the ranks before it, or "   \
  "the tensor is a partial maximum or minimum. Gather it first, as in cumulative_sum<0>(x | "      \
  "to<B, ...>)."
#define ASHLAR_SAYS_TAKE_ROWS                                                                      \
  "take_rows: on one mesh axis the table and the ids do not fit: both are split, or the ids are "  \
  "partial. Bring the ids to B where the table is split or partial, as in take_rows(table, ids | " \
  "to<...>)."
#define ASHLAR_SAYS_ADD_ROWS                                                                       \
  "add_rows: on one mesh axis the table, the ids and the rows do not fit. Rows that are split "    \
  "with their ids are added to a partial table; rows of a whole table are whole. Bring them to "   \
  "placements that fit, as in add_rows(table, ids | to<...>, rows | to<...>)."
#define ASHLAR_SAYS_ROWS_IDS(name)                                                                 \
  name ": the ids are a tensor of std::int32_t. Convert them first, as in "                        \
       "cast<std::int32_t>(ids)."
#define ASHLAR_SAYS_ROWS_DIMS(name)                                                                \
  name ": the table has no dimension, the rows have more than 5, or the operands differ in "       \
       "element type or processor. The rows have the dimensions of the ids and those of the "      \
       "table after the first."
#define ASHLAR_SAYS_DIMENSIONS(name)                                                               \
  name                                                                                             \
      ": the numbers are not different dimensions of the tensor. Dimensions count from 0 to rank " \
      "- 1."
#define ASHLAR_SAYS_EINSUM                                                                         \
  "einsum: on one mesh axis a letter is not split in the same way on both operands, or both are "  \
  "partial, or one is a partial maximum or minimum. Split a letter on each operand that has it, "  \
  "and reduce one of two partial operands, as in einsum<...>(x | to<...>, w)."
#define ASHLAR_SAYS_EINSUM_FORM                                                                    \
  "einsum: the text is not the letters of one or two operands, an arrow and the letters of the "   \
  "result, at most 5 letters each. Write it as in einsum<\"mk,kn->mn\">(x, w)."
#define ASHLAR_SAYS_EINSUM_TWICE                                                                   \
  "einsum: a letter stands twice in one operand or in the result. There are no diagonals: give "   \
  "each dimension its own letter."
#define ASHLAR_SAYS_EINSUM_UNKNOWN                                                                 \
  "einsum: a letter of the result is in no operand. Each dimension of the result is one of an "    \
  "operand."
#define ASHLAR_SAYS_EINSUM_OPERANDS                                                                \
  "einsum: the operands are not as many as the text has, or a tensor has more or fewer "           \
  "dimensions than letters, or they differ in element type or processor."
#define ASHLAR_SAYS_EINSUM_INTEGERS                                                                \
  "einsum: there is no product of integers. Convert the operands first, as in cast<double>(x)."
