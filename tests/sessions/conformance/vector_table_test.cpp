#include "sessions/conformance/vector_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace hybridscope::vector_table_test {
namespace {

using nlohmann::json;
using testing::IsEmpty;

// "POINTER: MESSAGE" of the JsonFault that `read` throws, "" if it throws none.
template <class Read>
std::string refusal(const json& document, Read read) {
  try {
    read(JsonValue(document));
  } catch (const JsonFault& fault) {
    return fault.pointer() + ": " + fault.what();
  }
  return "";
}

TEST(VectorTable, ARaggedTableNamesTheRow) {
  const json document = {{1, 2}, {3}};
  EXPECT_EQ(refusal(document, [](const JsonValue& top) { read_table(top); }),
            "/1: expected an array of 2 integers, found an array of 1");
}

TEST(VectorTable, HasTheShapeThatIsGiven) {
  const json document = {{"data", {{1, 2}}}, {"shape", {2, 1}}};
  EXPECT_EQ(refusal(document, [](const JsonValue& top) { read_table(top["data"], top["shape"]); }),
            "/shape: expected the shape of the table, [1, 2], found [2, 1]");
}

TEST(VectorTable, AnEmptyOneTakesItsColumnsFromTheShape) {
  const json document = {{"data", json::array()}, {"shape", {0, 5}}};
  const JsonValue top(document);
  const VectorTable table = read_table(top["data"], top["shape"]);
  EXPECT_EQ(table.rows, 0);
  EXPECT_EQ(table.cols, 5);
  EXPECT_THAT(table.data, IsEmpty());
}

TEST(VectorTable, MayHaveRowsWithoutColumns) {
  const json document = json::parse("[[], []]");
  const VectorTable table = read_table(JsonValue(document));
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.cols, 0);
}

}  // namespace
}  // namespace hybridscope::vector_table_test
