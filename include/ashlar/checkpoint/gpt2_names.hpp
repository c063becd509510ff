// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which published tensors of GPT-2 contain the parameters of nn::gpt and nn::tied_gpt (Radford
// et al. 2019). The names of the tensors are from the safetensors files on Hugging Face:
//
//   parameter of nn::gpt   published tensor               remark
//   0.table                wte.weight
//   0.positions            wpe.weight                     the first rows of wpe.weight
//   1.i.0.0.gain, bias     h.i.ln_1.weight, bias
//   1.i.0.1.0.weight       h.i.attn.c_attn.weight         GPT-2: q of all heads, then k, then v;
//   1.i.0.1.0.bias         h.i.attn.c_attn.bias           nn::gpt: q, k and v of a head together
//   1.i.0.1.2.weight       h.i.attn.c_proj.weight         the same for bias
//   1.i.1.0.gain, bias     h.i.ln_2.weight, bias
//   1.i.1.1.0.weight       h.i.mlp.c_fc.weight            the same for bias
//   1.i.1.1.2.weight       h.i.mlp.c_proj.weight          the same for bias
//   2.gain, bias           ln_f.weight, bias
//   3.weight               wte.weight                     transposed: GPT-2 shares this matrix
//                                                         with the embedding
//
//   checkpoint::load_parameters({"model.safetensors"}, model, checkpoint::gpt2_views());
//
// nn::tied_gpt has no 3.weight: 0.table serves both ends of the net, as in GPT-2. nn::gpt copies
// the shared matrix, so the two copies differ after training.

#include <string>
#include <utility>
#include <vector>

#include <ashlar/checkpoint/source_view.hpp>

namespace ashlar::checkpoint {

/// Returns a function that maps an array to its views in the files. Each name in the files begins
/// with `prefix`, which is "transformer." in some published files.
inline auto gpt2_views(std::string prefix = "") {
  return [prefix = std::move(prefix)](stored_array const& a) -> std::vector<source_view> {
    auto const refuse = [&] {
      throw error("checkpoint::gpt2_views", "\"" + a.name + "\" is no parameter of nn::gpt.");
    };
    auto const whole = [&](std::string const& name) {
      return std::vector{whole_view(prefix + name, a.extents)};
    };
    if (a.name == "0.table") return whole("wte.weight");
    if (a.name == "0.positions") {
      auto views = whole("wpe.weight");
      views[0].permits_rows = true;
      return views;
    }
    if (a.name == "2.gain") return whole("ln_f.weight");
    if (a.name == "2.bias") return whole("ln_f.bias");
    if (a.name == "3.weight" && a.extents.rank() == 2)
      return {transposed_view(prefix + "wte.weight", a.extents)};
    auto const dot = a.name.find('.', 2);
    if (a.name.rfind("1.", 0) != 0 || dot == std::string::npos) refuse();
    std::string const block = "h." + a.name.substr(2, dot - 2) + ".";
    auto const end = a.name.rfind('.');
    std::string const layer = a.name.substr(dot + 1, end > dot ? end - dot - 1 : 0);
    std::string const last = a.name.substr(end + 1) == "bias" ? ".bias" : ".weight";
    if (layer == "0.0") return whole(block + "ln_1" + last);
    if (layer == "1.0") return whole(block + "ln_2" + last);
    if (layer == "0.1.2") {
      auto views = whole(block + "attn.c_proj" + last);
      if (a.extents.rank() == 3)  // GPT-2 joins the heads and their features in one dim
        views[0].expected = {a.extents[0] * a.extents[1], a.extents[2]};
      return views;
    }
    if (layer == "1.1.0") return whole(block + "mlp.c_fc" + last);
    if (layer == "1.1.2") return whole(block + "mlp.c_proj" + last);
    if (layer != "0.1.0" || a.extents.rank() < 2) refuse();

    // The last two dims of this parameter are the heads, and the features of q, k and v of one
    // head.
    int const heads = a.extents.rank() - 2, features = heads + 1;
    std::int64_t const head = a.extents[features] / 3, width = a.extents[heads] * head;
    std::vector<source_view> views;
    for (int part = 0; part < 3; ++part) {
      source_view v = whole_view(prefix + block + "attn.c_attn" + last, a.extents);
      v.where.dim[features] = {part * head, head};
      v.offset = part * width;
      v.strides[heads] = head;
      v.expected = heads == 0 ? shape{3 * width} : shape{a.extents[0], 3 * width};
      views.push_back(std::move(v));
    }
    return views;
  };
}

}  // namespace ashlar::checkpoint
