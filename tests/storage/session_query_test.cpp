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

}  // namespace
}  // namespace hybridscope::test::session_query_test
