// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests that the published weights of a Llama are loaded only into a net that computes the same as
// the net that was trained. The net is compared with the config.json in the folder of the files. If
// the files have the head under another name, loading must be refused. The embedding's table must
// not be taken as the head.

#include <fstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/published_llama.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/llama_names.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
using nlohmann::json;

constexpr char const* nothing_thrown = "nothing was thrown";

/// Returns the config.json of `tiny_llama` with the entries of `changes` instead of its own. A null
/// in `changes` removes the entry.
json config_with(json const& changes) {
  json j{{"model_type", "llama"},    {"hidden_act", "silu"},
         {"num_hidden_layers", 2},   {"hidden_size", 16},
         {"num_attention_heads", 4}, {"num_key_value_heads", 2},
         {"intermediate_size", 10},  {"vocab_size", 11},
         {"rope_theta", 100.0},      {"rms_norm_eps", 9.999999747378752e-06},
         {"rope_scaling", nullptr},  {"tie_word_embeddings", false},
         {"attention_bias", false},  {"torch_dtype", "bfloat16"}};
  if (changes.is_object()) j.merge_patch(changes);
  return j;
}

class llama_folder {
 public:
  /// Writes the weights. `head` is the name of the head, or "" for none.
  explicit llama_folder(std::string const& head = "lm_head.weight") {
    if (world_rank() == 0) published_llama().write(file(), "", "lm_head.weight", head);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::filesystem::path file() const { return folder_.path() / "model.safetensors"; }
  void write_config(json const& j) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::ofstream(folder_.path() / "config.json") << j;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /// Returns the message with which loading into a net is refused.
  template <class Net>
  std::string refusal(Net const& net,
                      checkpoint::llama_views const& views = checkpoint::llama_views()) const {
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
    auto const problem = nn::describe<float>(net, nn::token_batch{2, 3});
    auto model = nn::place<float>(
        net, m, ashlar::search::data_parallel(problem, m.topology(), m.machine()));
    return message_of([&] { checkpoint::load_parameters({file()}, model, views); });
  }

 private:
  shared_folder folder_;
};

}  // namespace

TEST_CASE("a config.json beside the files is compared with the net") {
  llama_folder const f;
  auto const net = nn::llama(tiny_llama);
  auto const refused = [&](json const& changes, std::string const& sentence) {
    f.write_config(config_with(changes));
    std::string const message = f.refusal(net);
    CHECK_MESSAGE(has(message, sentence), message);
    CHECK(has(message, "config.json"));
  };
  f.write_config(config_with({}));
  CHECK(f.refusal(net) == nothing_thrown);
  refused({{"rope_theta", 500000.0}},
          "config.json describes another net than this one: rope_theta is 500000, but 100 in this "
          "net. Place the net with the numbers of the file.");
  refused({{"rope_theta", nullptr}}, "rope_theta is 10000, but 100 in this net");
  refused({{"rms_norm_eps", 1e-6}}, ": rms_norm_eps is 1e-06, but 1e-05 in this net. Place");
  refused({{"num_attention_heads", 8}, {"num_key_value_heads", 4}},
          ": num_attention_heads is 8, but 4 in this net; num_key_value_heads is 4, but 2 in this "
          "net. Place");
  refused({{"num_key_value_heads", nullptr}}, "num_key_value_heads is 4, but 2 in this net");
  refused({{"head_dim", 8}}, "head_dim is 8, but 4 in this net");
  refused({{"hidden_size", 32}}, "hidden_size is 32, but 16 in this net");
  refused({{"intermediate_size", 20}}, "intermediate_size is 20, but 10 in this net");
  refused({{"vocab_size", 12}}, "vocab_size is 12, but 11 in this net");
  refused({{"num_hidden_layers", 3}}, "num_hidden_layers is 3, but 2 in this net");
  refused({{"hidden_size", "wide"}}, "hidden_size: must be a whole number.");
  refused({{"model_type", "qwen2"}}, "it is \"qwen2\", but nn::llama computes what \"llama\"");
  refused({{"attention_bias", true}}, "attention_bias: it is true, but nn::llama has no biases.");
  refused({{"hidden_act", "gelu"}}, "hidden_act: it is \"gelu\", but nn::llama computes \"silu\".");
  refused({{"sliding_window", 4096}}, "sliding_window: it is 4096, but nn::llama attends to all");

  // If a model reads text and images, its config.json contains the config of the text model as an
  // inner object.
  f.write_config({{"model_type", "other"}, {"text_config", config_with({{"rope_theta", 7}})}});
  CHECK(has(f.refusal(net), "rope_theta is 7, but 100 in this net"));
  // In the config.json of newer programs, the entries of rotary positions are in an inner object.
  auto newer = config_with({{"rope_theta", nullptr}});
  newer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 100}};
  f.write_config(newer);
  CHECK(f.refusal(net) == nothing_thrown);
  newer["rope_parameters"]["rope_theta"] = 8;
  f.write_config(newer);
  CHECK(has(f.refusal(net), "rope_theta is 8, but 100 in this net"));
}

TEST_CASE("the scaling of rotary positions in a config.json is that of the net, or is refused") {
  llama_folder const f;
  json const scaling{{"rope_type", "llama3"},
                     {"factor", 5.0},
                     {"low_freq_factor", 1.0},
                     {"high_freq_factor", 4.0},
                     {"original_max_position_embeddings", 16}};
  auto const refusal = [&](json const& changes, nn::llama_options const& o) {
    auto changed = scaling;
    if (changes.is_object()) changed.merge_patch(changes);
    f.write_config(config_with({{"rope_scaling", changed}}));
    return f.refusal(nn::llama(o));
  };
  CHECK(refusal({}, scaled_llama) == nothing_thrown);
  CHECK(has(refusal({}, tiny_llama), "rope_scaling.factor is 5, but 1 in this net"));
  CHECK(has(refusal({{"factor", 6}}, scaled_llama), "rope_scaling.factor is 6, but 5 in this net"));
  CHECK(has(refusal({{"low_freq_factor", 2}}, scaled_llama),
            "rope_scaling.low_freq_factor is 2, but 1 in this net"));
  CHECK(has(refusal({{"high_freq_factor", 8}}, scaled_llama),
            "rope_scaling.high_freq_factor is 8, but 4 in this net"));
  CHECK(has(refusal({{"original_max_position_embeddings", 32}}, scaled_llama),
            "rope_scaling.original_max_position_embeddings is 32, but 16 in this net"));
  CHECK(
      has(refusal({{"rope_type", nullptr}, {"type", "yarn"}}, scaled_llama),
          "rope_scaling: the rotary positions are scaled by \"yarn\", which nn::llama cannot do."));
  CHECK(has(refusal({{"factor", nullptr}}, scaled_llama), "lacks an entry"));
  CHECK(refusal({{"rope_type", "default"}}, tiny_llama) == nothing_thrown);
  f.write_config(config_with({}));
  CHECK(has(f.refusal(nn::llama(scaled_llama)), "rope_scaling.factor is 1, but 5 in this net"));
}

TEST_CASE("a tied head is no head of one's own, and the other way round") {
  llama_folder const own, headless(""), other("output.weight");
  auto const net = nn::llama(tiny_llama);
  auto const tied = nn::tied_llama(tiny_llama);
  checkpoint::llama_views const views, copies("model.", checkpoint::tied_head::copied);

  // Without a config.json, the tensors of the files show whether the head is tied.
  CHECK(headless.refusal(tied) == nothing_thrown);
  CHECK(headless.refusal(net, copies) == nothing_thrown);
  CHECK(headless.refusal(net, views) ==
        "checkpoint::load: on rank 0: the checkpoint has no \"lm_head.weight\" of shape 11x16, "
        "which this net needs for \"3.weight\". No other tensor of this shape is left. If the "
        "embedding's table is the head, place nn::tied_llama, or pass "
        "checkpoint::tied_head::copied to llama_views.");
  for (auto const* v : {&views, &copies})
    CHECK(has(other.refusal(net, *v),
              "Tensors of this shape that the net does not read: \"output.weight\"."));
  CHECK(has(own.refusal(tied),
            "the files have \"lm_head.weight\" with other values than "
            "\"model.embed_tokens.weight\", but this net has no head of its own. Place nn::llama"));
  auto weights = published_llama();
  weights.add_copy("lm_head.weight", "model.embed_tokens.weight");
  if (world_rank() == 0) weights.write(other.file(), "");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(other.refusal(tied) == nothing_thrown);  // the head is a copy of the table

  own.write_config(config_with({}));
  CHECK(
      has(own.refusal(tied), "tie_word_embeddings is false, but this net has no head of its own"));
  headless.write_config(config_with({{"tie_word_embeddings", true}}));
  CHECK(headless.refusal(tied) == nothing_thrown);
  CHECK(headless.refusal(net, copies) == nothing_thrown);
  CHECK(has(headless.refusal(net),
            "tie_word_embeddings is true, but this net has a head of its own (place "
            "nn::tied_llama, or pass checkpoint::tied_head::copied to llama_views)."));
}

}  // namespace ashlar_test
