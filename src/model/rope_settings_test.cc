// Rotary positions in all spellings of config.json.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "src/format/testing.h"
#include "src/model/config.h"
#include "src/model/describe_testing.h"
#include "src/model/testing.h"

namespace sightline::model {
namespace {

using format::error_of;
using nlohmann::json;

// A small model of the conformance set without any key of positions.
json plain(const char* name = "llama") {
  json config = format::read_json(conformance_model(name) / "config.json");
  for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"}) config.erase(key);
  return config;
}

json with(json base, const json& changes) {
  base.update(changes);
  return base;
}

TransformerConfig parse(const json& config) { return parse_config(config.dump(), "config.json"); }
Rope first_rope(const json& config) { return parse(config).ropes.at(0); }

TEST(RopeSettings, OlderAndNewerSpellingsAreTheSame) {
  const json settings[] = {
      {{"factor", 2.0}, {"type", "linear"}},
      {{"factor", 2.0}, {"type", "dynamic"}},
      {{"factor", 4.0}, {"type", "yarn"}, {"original_max_position_embeddings", 32}},
      {{"factor", 8.0},
       {"type", "llama3"},
       {"low_freq_factor", 1.0},
       {"high_freq_factor", 4.0},
       {"original_max_position_embeddings", 16}},
      {{"type", "longrope"},
       {"short_factor", std::vector<double>(8, 1.0)},
       {"long_factor", std::vector<double>(8, 2.0)},
       {"original_max_position_embeddings", 16}},
  };
  for (const json& old : settings) {
    const json expected = describe(parse(with(plain(), {{"rope_theta", 5000.0}, {"rope_scaling", old}})));
    json renamed = old;
    renamed["rope_type"] = renamed.at("type");
    EXPECT_EQ(expected, describe(parse(with(plain(), {{"rope_theta", 5000.0}, {"rope_scaling", renamed}})))) << old;
    renamed.erase("type");
    EXPECT_EQ(expected, describe(parse(with(plain(), {{"rope_theta", 5000.0}, {"rope_scaling", renamed}})))) << old;
    renamed["rope_theta"] = 5000.0;
    EXPECT_EQ(expected, describe(parse(with(plain(), {{"rope_parameters", renamed}})))) << old;
    EXPECT_FALSE(expected.contains("unknown")) << expected;
  }
}

TEST(RopeSettings, AllLayersOfAGroupMayHaveTheirOwn) {
  const json by_type = {{"full_attention", {{"rope_type", "yarn"}, {"factor", 2.0}, {"rope_theta", 3000.0}}},
                        {"sliding_attention", {{"rope_theta", 7000.0}}}};
  const TransformerConfig config =
      parse(with(plain("gemma2"), {{"rope_parameters", by_type},
                                   {"layer_types", {"full_attention", "sliding_attention", "full_attention"}}}));
  ASSERT_EQ(2u, config.ropes.size());
  EXPECT_EQ(RopeScaling::yarn, config.ropes[0].scaling);
  EXPECT_EQ(3000, config.ropes[0].base);
  EXPECT_EQ(RopeScaling::none, config.ropes[1].scaling);
  EXPECT_EQ(7000, config.ropes[1].base);
  EXPECT_EQ(0, config.pattern[0].rope);
  EXPECT_EQ(1, config.pattern[1].rope);
  EXPECT_EQ(0, config.pattern[2].rope);
}

TEST(RopeSettings, Gemma3ScalesFullLayersAlone) {
  const json scaling = {{"factor", 8.0}, {"rope_type", "linear"}};
  const TransformerConfig config = parse(
      with(plain("gemma3"), {{"rope_scaling", scaling}, {"rope_theta", 500000.0}, {"rope_local_base_freq", 2000}}));
  ASSERT_EQ(2u, config.ropes.size());
  EXPECT_EQ(RopeScaling::linear, config.ropes[0].scaling);
  EXPECT_EQ(500000, config.ropes[0].base);
  EXPECT_EQ(RopeScaling::none, config.ropes[1].scaling);
  EXPECT_EQ(2000, config.ropes[1].base);
  EXPECT_TRUE(config.unknown_keys.empty());
}

TEST(RopeSettings, LengthsBeforeScaling) {
  // Within the settings, outside of them (Phi-3), or the model's own.
  const json yarn = {{"factor", 4.0}, {"rope_type", "yarn"}};
  EXPECT_EQ(128, first_rope(with(plain(), {{"rope_scaling", yarn}})).original_positions);
  EXPECT_EQ(32, first_rope(with(plain(), {{"rope_scaling", with(yarn, {{"original_max_position_embeddings", 32}})}}))
                    .original_positions);
  EXPECT_EQ(
      64,
      first_rope(with(plain(), {{"original_max_position_embeddings", 64}, {"rope_scaling", yarn}})).original_positions);
  // Dynamic scaling begins at max_position_embeddings, whatever else is said.
  const json dynamic = {{"factor", 4.0}, {"rope_type", "dynamic"}, {"original_max_position_embeddings", 32}};
  EXPECT_EQ(128, first_rope(with(plain(), {{"rope_scaling", dynamic}})).original_positions);
}

TEST(RopeSettings, ScalingOpensALongerContext) {
  const auto positions = [](const json& scaling) {
    return parse(with(plain(), {{"rope_scaling", scaling}})).max_positions;
  };
  EXPECT_EQ(512, positions({{"factor", 4.0}, {"rope_type", "dynamic"}}));
  EXPECT_EQ(512, positions({{"factor", 4.0}, {"rope_type", "yarn"}}));
  EXPECT_EQ(128, positions({{"factor", 4.0}, {"rope_type", "yarn"}, {"original_max_position_embeddings", 16}}));
  EXPECT_EQ(128, positions({{"factor", 4.0}, {"rope_type", "linear"}}));
}

TEST(RopeSettings, YarnTakesItsNumbers) {
  const json all = {{"rope_type", "yarn"},   {"factor", 4.0},     {"attention_factor", 1.5},
                    {"beta_fast", 16.0},     {"beta_slow", 2.0},  {"mscale", 0.7},
                    {"mscale_all_dim", 0.9}, {"truncate", false}, {"original_max_position_embeddings", 32}};
  const Rope rope = first_rope(with(plain(), {{"rope_scaling", all}}));
  EXPECT_EQ(1.5, rope.attention_factor);
  EXPECT_EQ(16, rope.beta_fast);
  EXPECT_EQ(2, rope.beta_slow);
  EXPECT_EQ(0.7, rope.mscale);
  EXPECT_EQ(0.9, rope.mscale_all_dim);
  EXPECT_FALSE(rope.truncate);
  // A factor of null is the ratio of the lengths; one mscale without the other counts for nothing.
  json some = with(all, {{"factor", nullptr}, {"attention_factor", nullptr}, {"mscale_all_dim", 0}});
  const Rope other = first_rope(with(plain(), {{"rope_scaling", some}}));
  EXPECT_EQ(4, other.factor);
  EXPECT_FALSE(other.mscale);
  EXPECT_FALSE(other.attention_factor);
}

TEST(RopeSettings, Phi3CallsLongropeByOlderNames) {
  const json factors = {{"short_factor", std::vector<double>(8, 1.0)}, {"long_factor", std::vector<double>(8, 2.0)}};
  for (const char* name : {"su", "yarn", "longrope"}) {
    const Rope rope = first_rope(with(plain("phi3"), {{"rope_scaling", with(factors, {{"type", name}})}}));
    EXPECT_EQ(RopeScaling::longrope, rope.scaling) << name;
    EXPECT_EQ(16, rope.original_positions);
    EXPECT_EQ(4, rope.factor);
  }
  json unsaid = plain("phi3");
  unsaid.erase("original_max_position_embeddings");
  EXPECT_EQ(4096,
            first_rope(with(unsaid, {{"rope_scaling", with(factors, {{"type", "longrope"}})}})).original_positions);
}

TEST(RopeSettings, GptOssHasYarnUnlessItSaysOtherwise) {
  const Rope rope = first_rope(plain("gpt_oss"));
  EXPECT_EQ(RopeScaling::yarn, rope.scaling);
  EXPECT_EQ(150000, rope.base);
  EXPECT_EQ(32, rope.factor);
  EXPECT_EQ(4096, rope.original_positions);
  EXPECT_FALSE(rope.truncate);
}

TEST(RopeSettings, PartOfAHeadIsTurned) {
  EXPECT_EQ(8, first_rope(with(plain("phi3"), {{"partial_rotary_factor", 0.5}})).width);
  EXPECT_EQ(4, first_rope(with(plain(), {{"rope_parameters", {{"partial_rotary_factor", 0.25}}}})).width);
  EXPECT_EQ(4, first_rope(plain("gpt_neox")).width);
  error_of<BadFile>([] {
    parse(with(plain(), {{"rope_parameters", {{"partial_rotary_factor", 0.2}}}}));
  });  // 3 elements
}

TEST(RopeSettings, RefusesWhatItDoesNotKnow) {
  const json kinds[] = {{{"type", "made_up"}}, {{"rope_type", "proportional"}}, {{"mrope_section", {2, 3, 3}}}};
  for (const json& settings : kinds) {
    const std::string message = error_of<UnsupportedModel>([&] { parse(with(plain(), {{"rope_scaling", settings}})); });
    EXPECT_NE(message.find("rope_scaling"), message.npos) << message;
  }
  const json odd = {{"type", "linear"}, {"factor", 2.0}, {"new_factor", 3.0}};
  EXPECT_EQ(std::vector<std::string>{"rope_scaling.new_factor"},
            parse(with(plain(), {{"rope_scaling", odd}})).unknown_keys);
}

TEST(RopeSettings, RefusesNumbersThatMakeNoPositions) {
  const json llama3 = {{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}};
  const json longrope = {{"rope_type", "longrope"},
                         {"short_factor", std::vector<double>(8, 1.0)},
                         {"long_factor", std::vector<double>(8, 2.0)}};
  const json settings[] = {
      {{"rope_type", "linear"}},
      {{"rope_type", "linear"}, {"factor", 0}},
      {{"rope_type", "linear"}, {"factor", -2}},
      {{"rope_type", "linear"}, {"factor", 1e300}},
      {{"rope_type", "linear"}, {"factor", "2"}},
      {{"rope_type", "dynamic"}},
      {{"rope_type", 3}},
      {{"rope_theta", 1.0}},
      {{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", -1}},
      {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 0}},
      with(llama3, {{"high_freq_factor", 1.0}}),
      with(llama3, {{"low_freq_factor", nullptr}}),
      with(longrope, {{"short_factor", {1.0, 2.0}}}),
      with(longrope, {{"long_factor", std::vector<double>(8, 0.0)}}),
      with(longrope, {{"long_factor", std::vector<std::string>(8, "1")}}),
      with(longrope, {{"long_factor", nullptr}}),
      with(longrope, {{"original_max_position_embeddings", 1}}),
  };
  for (const json& scaling : settings) {
    const std::string message = error_of<BadFile>([&] { parse(with(plain(), {{"rope_scaling", scaling}})); });
    EXPECT_FALSE(message.empty()) << scaling;
  }
  error_of<BadFile>([] { parse(with(plain(), {{"rope_scaling", "linear"}})); });
}

}  // namespace
}  // namespace sightline::model
