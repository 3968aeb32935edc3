// Every file of golden/: each vector passes, and no number of an expected answer may change
// unnoticed.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "tests/sessions/conformance/answer_mutations.h"
#include "tests/sessions/conformance/golden_vector_files.h"
#include "tests/support/golden.h"
#include "tests/support/property.h"

namespace hybridscope::golden_files_test {
namespace {

using nlohmann::json;

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
    for (const test::AnswerMutation& mutation :
         test::answer_mutations(parts.answered, kPlacesACase, random)) {
      const json changed = test::apply_mutation(parts.answered, mutation);
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

}  // namespace
}  // namespace hybridscope::golden_files_test
