#include "storage/session_query.h"

#include <gmock/gmock.h>

#include "storage/session_file.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::session_query_test {
namespace {

using testing::HasSubstr;

// It would never end by itself.
TEST(SessionQuery, EndsWithoutARowOnceItIsInterrupted) {
  const TemporaryFolder folder;
  const std::string path = folder / "runs.db";
  ASSERT_TRUE(
      record_run(synthetic_run(1), {.place = {.file = path, .name = "one"}, .max_steps = 1}).ok());
  const auto file = SessionFile::open(path, FileAccess::read);
  ASSERT_TRUE(file.ok());
  std::int64_t num_rows = 0;
  const QueryVisitor visitor{.columns = [](const std::vector<std::string>&) {},
                             .row =
                                 [&](const std::vector<QueryValue>&) {
                                   ++num_rows;
                                   return true;
                                 },
                             .is_interrupted = [] { return true; }};
  const Status done = run_query(
      file.value(),
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
      visitor);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::not_available);
  EXPECT_THAT(done.error().message, HasSubstr("runs.db: interrupted"));
  EXPECT_EQ(num_rows, 0);
}

TEST(RunQuery, CutsTextsAndMakesNoValueOfMoreThan128MiB) {
  const TemporaryFolder folder;
  const std::string path = folder / "runs.db";
  const auto file = SessionFile::open(path, FileAccess::create);
  ASSERT_TRUE(file.ok());
  std::vector<QueryValue> row;
  QueryVisitor visitor{.columns = [](const std::vector<std::string>&) {},
                       .row =
                           [&](const std::vector<QueryValue>& values) {
                             row = values;
                             return true;
                           },
                       .max_text_bytes = 4};
  ASSERT_TRUE(run_query(file.value(), "SELECT 'abcd', 'abcde', 'abc\u00e9', 12345", visitor).ok());
  EXPECT_EQ(std::get<std::string>(row[0]), "abcd");
  EXPECT_EQ(std::get<CutText>(row[1]).text, "abcd");
  EXPECT_EQ(std::get<CutText>(row[1]).bytes, 5);
  EXPECT_EQ(std::get<CutText>(row[2]).text, "abc");  // not half of a character
  EXPECT_EQ(std::get<std::int64_t>(row[3]), 12345);
  const Status large = run_query(file.value(), "SELECT hex(zeroblob(100000000))", visitor);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(large.error().message, HasSubstr("a value of more than 134217728 bytes"));
}

}  // namespace
}  // namespace hybridscope::test::session_query_test
