// Vectors of whole models: what must not go unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sessions/conformance/conformance.h"
#include "tests/sessions/conformance/golden_vector_files.h"
#include "tests/support/golden.h"

namespace hybridscope::model_vectors_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class ModelVectors : public testing::TestWithParam<test::GoldenVectorFile> {
 protected:
  // The first vector of the file that asks `what`.
  static json first(const std::string& what) {
    std::optional<json> found;
    test::for_each_case(GetParam().name, [&](const json& vector) {
      if (!found && vector.at("config").at("what") == what) found = vector;
    });
    return *found;
  }
  static std::string place_of_difference(const json& vector) {
    const auto difference = check_vector(*GetParam().kind, vector, {}, GetParam().place());
    return difference ? difference->pointer : "none";
  }
};

// The first letter of a base64 text holds bits of the first float's lowest byte.
void change_first_float(json& tensor) {
  std::string text = tensor.at("f32");
  text[0] = text[0] == 'A' ? 'B' : 'A';
  tensor["f32"] = text;
}

TEST_P(ModelVectors, OneBitOfALogitIsFound) {
  json vector = first("logits");
  change_first_float(vector["bits"]["logits"]);
  EXPECT_EQ(place_of_difference(vector), "/bits/logits/0/0");
}

TEST_P(ModelVectors, OneBitOfAConvStateIsFound) {
  json vector = first("state");
  change_first_float(vector["bits"]["layers"][1]["conv"]);
  EXPECT_EQ(place_of_difference(vector), "/bits/layers/1/conv/0");
}

TEST_P(ModelVectors, AnotherGreedyTokenIsFound) {
  json vector = first("greedy");
  vector["expect"]["tokens"][23] = vector["expect"]["tokens"][23].get<int>() + 1;
  EXPECT_EQ(place_of_difference(vector), "/expect/tokens/23");
}

TEST_P(ModelVectors, AnotherDivergenceIsFound) {
  json vector = first("missing_tokens");
  vector["expect"]["kl"][0] = vector["expect"]["kl"][0].get<double>() + 0.01;
  EXPECT_EQ(place_of_difference(vector), "/expect/kl/0");
}

// A run that misses another number of tokens has other logits.
TEST_P(ModelVectors, AnotherNumberOfMissingTokensIsFound) {
  json vector = first("missing_tokens");
  vector["input"]["missing"] = vector["input"]["missing"].get<int>() + 1;
  EXPECT_THAT(place_of_difference(vector), StartsWith("/expect/logits/0/"));
}

TEST_P(ModelVectors, WeightsThatAreNotThereAreNamed) {
  json vector = first("logits");
  vector["config"]["folder"] = "model_of_nobody";
  try {
    static_cast<void>(place_of_difference(vector));
    FAIL() << "expected a JsonFault";
  } catch (const JsonFault& error) {
    EXPECT_EQ(error.pointer(), "/config/folder");
    EXPECT_THAT(error.what(), HasSubstr("model_of_nobody/config.json"));
  }
}

std::vector<test::GoldenVectorFile> model_files() {
  std::vector<test::GoldenVectorFile> files = test::golden_vector_files();
  std::erase_if(files, [](const auto& file) { return !file.kind->of_model; });
  return files;
}

INSTANTIATE_TEST_SUITE_P(Models, ModelVectors, testing::ValuesIn(model_files()),
                         [](const auto& file) { return file.param.test_name(); });

}  // namespace
}  // namespace hybridscope::model_vectors_test
