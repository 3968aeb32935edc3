// Vectors of real recurrences: no bit of an answer may change unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sessions/conformance/conformance.h"
#include "sessions/conformance/numeric_check.h"
#include "tests/sessions/conformance/golden_vector_files.h"
#include "tests/support/golden.h"

namespace hybridscope::numeric_vectors_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// Changes the lowest bits of a float in a base64 text. Every third float begins with a letter of
// its own.
void change_float(json& base64, std::size_t index) {
  std::string text = base64.get<std::string>();
  char& letter = text.at(index / 3 * 16);
  letter = letter == 'A' ? 'B' : 'A';
  base64 = text;
}

class NumericVectors : public testing::TestWithParam<test::GoldenVectorFile> {
 protected:
  std::optional<VectorDifference> check(const json& vector) const {
    return check_vector(*GetParam().kind, vector, {});
  }
};

// An output of a token that is compared, where one begins with a letter of its own.
std::optional<std::size_t> changeable_output(const json& vector) {
  const json& shape = vector.at("bits").at("y").at("shape");
  std::size_t width = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) width *= shape[i].get<std::size_t>();
  for (const json& token : vector.at("compare_tokens"))
    for (std::size_t i = 0; i < width; ++i)
      if (const std::size_t index = token.get<std::size_t>() * width + i; index % 3 == 0)
        return index;
  return std::nullopt;
}

TEST_P(NumericVectors, AChangedBitOfAnOutputIsFound) {
  int changed = 0;
  test::for_each_case(GetParam().name, [&](const json& original) {
    const auto output = changeable_output(original);
    if (!output) return;
    json vector = original;
    change_float(vector["bits"]["y"]["f32"], *output);
    const auto difference = check(vector);
    ASSERT_TRUE(difference) << vector.at("id");
    EXPECT_THAT(difference->pointer, StartsWith("/bits/y/"));
    ++changed;
  });
  EXPECT_GT(changed, 3);
}

TEST_P(NumericVectors, AChangedBitOfABlockIsFound) {
  test::for_each_case(GetParam().name, [&](const json& original) {
    for (const auto& [name, blocks] : original.at("bits").items()) {
      if (name == "y" || blocks.empty()) continue;
      json vector = original;
      change_float(vector["bits"][name][blocks.begin().key()], 0);
      const auto difference = check(vector);
      ASSERT_TRUE(difference) << vector.at("id");
      EXPECT_EQ(difference->pointer, "/bits/" + name + "/" + blocks.begin().key() + "/0");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, NumericVectors, testing::ValuesIn(test::golden_vector_files(true)),
                         [](const auto& file) { return file.param.test_name(); });

json first_conv_update() { return test::first_case("numeric/conv_update"); }

std::optional<VectorDifference> check_conv_update(const json& vector) {
  const auto files = test::golden_vector_files(true);
  const auto file =
      std::ranges::find_if(files, [](const auto& one) { return one.kind->name == "conv_update"; });
  return check_vector(*file->kind, vector, {});
}

// A block that the vector does not name has to keep its bits.
TEST(NumericVectors, AWriteToABlockThatIsNotNamedIsFound) {
  json vector = first_conv_update();
  json& written = vector["bits"]["conv_state"];
  const std::string block = written.begin().key();
  written.erase(block);
  const auto difference = check_conv_update(vector);
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->pointer, StartsWith("/bits/conv_state/" + block + "/"));
}

// Values are compared with a tolerance: 2e-5 of the value.
TEST(NumericVectors, AWrongValueIsFoundBehindTheRightBits) {
  json vector = first_conv_update();
  std::string text = vector["expect"]["y"]["f32"];
  text[4] = text[4] == 'A' ? 'z' : 'A';  // the exponent of the first float
  vector["expect"]["y"]["f32"] = text;
  const auto difference = check_conv_update(vector);
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->pointer, StartsWith("/expect/y/0"));
}

// exp of 88 is 1.7e38: held against the largest output of the tensor, no small one could be wrong.
TEST(NumericVectors, EachOutputOfExpIsHeldAgainstItsOwnSize) {
  json vector = test::first_case("numeric/arith");
  ASSERT_EQ(vector.at("op"), "exp");
  std::string text = vector["expect"]["y"]["f32"];
  text[4] = text[4] == 'A' ? 'z' : 'A';  // the exponent of the first float
  vector["expect"]["y"]["f32"] = text;
  const auto files = test::golden_vector_files(true);
  const auto arith =
      std::ranges::find_if(files, [](const auto& one) { return one.kind->name == "arith"; });
  const auto difference = check_vector(*arith->kind, vector, {});
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->pointer, "/expect/y/0/0");
}

TEST(NumericVectors, OutputsOfAnElementwiseFunctionMayDifferByTheirOwnRoundingOnly) {
  const std::vector<float> expected = {3e38F, 1.0F, 0.0F};
  const std::vector<float> rounded = {3e38F, 1.00001F, 1e-39F};
  const std::vector<float> wrong = {3e38F, 1.0001F, 0.0F};
  const auto difference = [&](const std::vector<float>& got) {
    const std::vector<ComparedFloats> parts = {{"/y", expected, got}};
    return differing_elements(parts, 2e-5);
  };
  EXPECT_FALSE(difference(rounded));
  ASSERT_TRUE(difference(wrong));
  EXPECT_EQ(difference(wrong)->pointer, "/y/1");
}

TEST(NumericVectors, ABadTensorIsNamedWithItsPlace) {
  json vector = first_conv_update();
  vector["input"]["x"]["f32"] = "AAAA";
  try {
    static_cast<void>(check_conv_update(vector));
    FAIL() << "expected a JsonFault";
  } catch (const JsonFault& error) {
    EXPECT_EQ(error.pointer(), "/input/x/f32");
    EXPECT_THAT(error.what(), HasSubstr("expected whole floats of 4 bytes"));
  }
}

}  // namespace
}  // namespace hybridscope::numeric_vectors_test
