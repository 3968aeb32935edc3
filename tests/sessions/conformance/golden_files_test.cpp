// Every file of golden/: each vector passes, and no number of an expected answer may change
// unnoticed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/numeric_check.h"
#include "sessions/conformance/recognise.h"
#include "sessions/text/json_value.h"
#include "tests/sessions/conformance/golden_vector_files.h"
#include "tests/support/golden.h"
#include "tests/support/property.h"

namespace hybridscope::golden_files_test {
namespace {

using nlohmann::json;

// Small changes of an expected answer, each of which a comparison must find.
enum class Change { number, boolean, text, removed_member, removed_element };

struct AnswerMutation {
  Change change = Change::number;
  std::string pointer;      // what is changed
  std::string reported_at;  // where the difference has to show
};

void collect(const json& value, const std::string& pointer, std::vector<AnswerMutation>& places);

void collect_object(const json& object, const std::string& pointer,
                    std::vector<AnswerMutation>& places) {
  if (object.contains("error")) return;
  for (const auto& [key, value] : object.items()) {
    const std::string child = child_pointer(pointer, key);
    places.push_back({Change::removed_member, child, child});
    collect(value, child, places);
  }
}

void collect(const json& value, const std::string& pointer, std::vector<AnswerMutation>& places) {
  if (value.is_object()) return collect_object(value, pointer, places);
  if (value.is_number()) places.push_back({Change::number, pointer, pointer});
  if (value.is_boolean()) places.push_back({Change::boolean, pointer, pointer});
  if (value.is_string()) places.push_back({Change::text, pointer, pointer});
  if (!value.is_array()) return;
  if (!value.empty()) places.push_back({Change::removed_element, pointer, pointer});
  for (std::size_t i = 0; i < value.size(); ++i)
    collect(value[i], child_pointer(pointer, i), places);
}

// Places of `output` that may be changed: numbers, booleans, texts, members of objects, last
// elements of arrays; none inside an error object, whose content is not compared, and no nulls,
// which are unwritten elements. All of them, or `limit` random ones.
std::vector<AnswerMutation> answer_mutations(const json& output, std::size_t limit,
                                             std::mt19937& random) {
  std::vector<AnswerMutation> places;
  collect(output, "", places);
  if (places.size() <= limit) return places;
  std::shuffle(places.begin(), places.end(), random);
  places.resize(limit);
  return places;
}

json apply_mutation(json output, const AnswerMutation& mutation) {
  const json::json_pointer pointer(mutation.pointer);
  json& place = output.at(pointer);
  switch (mutation.change) {
    case Change::number: place = place.get<std::int64_t>() + 1; break;
    case Change::boolean: place = !place.get<bool>(); break;
    case Change::text: place = place.get<std::string>() + "x"; break;
    case Change::removed_member: output.at(pointer.parent_pointer()).erase(pointer.back()); break;
    case Change::removed_element: place.erase(place.size() - 1); break;
  }
  return output;
}

class GoldenFile : public testing::TestWithParam<test::GoldenVectorFile> {
 protected:
  const VectorKind& kind() const { return *GetParam().kind; }
};

TEST_P(GoldenFile, EveryVectorPasses) {
  const FileReport report = check_vector_file(test::golden_path(GetParam().name),
                                              {.kernels = {.execute_copies = &execute_copies}});
  EXPECT_EQ(report.kind, &kind());
  EXPECT_GT(report.cases, 0);
  EXPECT_EQ(report.passed, report.cases);
  for (const FailedCase& failed : report.failed)
    ADD_FAILURE() << failed.id << " " << failed.difference.pointer << ": expected "
                  << failed.difference.expected.substr(0, 1000) << ", got "
                  << failed.difference.got.substr(0, 1000);
  for (const InvalidCase& invalid : report.invalid) ADD_FAILURE() << invalid.message;
}

// As many as README.md says; those of releases and of whole models are in folders of their own.
TEST(GoldenFiles, Have8365CasesInAll) {
  int cases = 0;
  for (const test::GoldenVectorFile& file : test::golden_vector_files())
    if (file.name.find('/') == std::string::npos)
      test::for_each_line(file.name, [&](const std::string&) { ++cases; });
  EXPECT_EQ(cases, 8365);
}

// "a b" -> every word stands in the text as `a` or at the end of something like `config.a`.
std::string first_missing(const std::string& text, std::string_view words) {
  std::istringstream stream{std::string(words)};
  for (std::string word; stream >> word;)
    if (text.find("`" + word + "`") == std::string::npos &&
        text.find("." + word + "`") == std::string::npos)
      return word;
  return "";
}

TEST_P(GoldenFile, TheReadmeOfTheVectorsNamesItAndItsFields) {
  std::ostringstream readme;
  readme << std::ifstream(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/README.md").rdbuf();
  EXPECT_EQ(first_missing(readme.str(), kind().name), "");
  EXPECT_EQ(first_missing(readme.str(), kind().config_fields), "");
  EXPECT_EQ(first_missing(readme.str(), kind().input_fields), "");
}

// The number of cases per file, and of places per case.
constexpr std::size_t kCasesAFile = 3;
constexpr std::size_t kPlacesACase = 150;
constexpr std::uint32_t kSeed = 20250;

class RecomputedFile : public GoldenFile {};

TEST_P(RecomputedFile, AChangedPlaceOfAnAnswerIsFoundThere) {
  std::vector<std::string> cases;
  test::for_each_line(GetParam().name, [&](const std::string& line) { cases.push_back(line); });
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::shuffle(cases.begin(), cases.end(), random);
  cases.resize(std::min(cases.size(), test::num_cases(kCasesAFile)));
  for (const std::string& line : cases) {
    const json vector = json::parse(line);
    const VectorParts parts = split_vector(kind(), vector);
    const json answer = kind().recompute(open_vector(kind(), parts.asked, GetParam().release),
                                         {.execute_copies = &execute_copies});
    for (const AnswerMutation& mutation : answer_mutations(parts.answered, kPlacesACase, random)) {
      const json changed = apply_mutation(parts.answered, mutation);
      const auto difference = first_difference(changed, answer);
      ASSERT_TRUE(difference) << vector.at("id") << " " << mutation.pointer;
      ASSERT_EQ(difference->pointer, mutation.reported_at) << vector.at("id");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenFile, testing::ValuesIn(test::golden_vector_files()),
                         [](const auto& file) { return file.param.test_name(); });
INSTANTIATE_TEST_SUITE_P(Kinds, RecomputedFile, testing::ValuesIn(test::golden_vector_files(false)),
                         [](const auto& file) { return file.param.test_name(); });

// Vectors of whole models: what must not go unnoticed.

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

// Vectors of real recurrences: no bit of an answer may change unnoticed.

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

}  // namespace hybridscope::golden_files_test
