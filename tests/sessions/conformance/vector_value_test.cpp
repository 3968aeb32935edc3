#include "sessions/conformance/vector_value.h"

#include <gmock/gmock.h>

namespace hybridscope::vector_value_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "POINTER: MESSAGE" of the VectorError that `read` throws, "" if it throws none.
template <class Read>
std::string refusal(const json& document, Read read) {
  try {
    read(VectorValue(document, ""));
  } catch (const VectorError& error) {
    return error.pointer() + ": " + error.what();
  }
  return "";
}

TEST(VectorValue, NamesTheMemberThatIsMissing) {
  const json document = {{"config", {{"block_size", 16}}}};
  EXPECT_EQ(refusal(document, [](const VectorValue& top) { top["config"]["chunk_size"].int32(); }),
            "/config: no member \"chunk_size\"");
}

TEST(VectorValue, AnObjectHasNoElements) {
  const json document = json::parse(R"({"entry": {"group": 0, "column": 1}})");
  EXPECT_EQ(refusal(document, [](const VectorValue& top) { top["entry"][std::size_t{1}].int32(); }),
            "/entry: expected an array, found an object");
}

TEST(VectorValue, NamesTheElementThatIsNoInteger) {
  const json document = {{"input", {{"seq_lens", {1, "two"}}}}};
  EXPECT_EQ(refusal(document, [](const VectorValue& top) { top["input"]["seq_lens"].int32s(); }),
            "/input/seq_lens/1: expected an integer from -2147483648 to 2147483647, found \"two\"");
}

TEST(VectorValue, RefusesNumbersThatDoNotFit) {
  const json document = {3000000000, 0.5, 18446744073709551615U};
  const auto at = [&](std::size_t index) {
    return refusal(document, [&](const VectorValue& top) { top[index].int64_in(-5, 2147483647); });
  };
  EXPECT_EQ(at(0), "/0: expected an integer from -5 to 2147483647, found 3000000000");
  EXPECT_THAT(at(1), HasSubstr("found 0.5"));
  EXPECT_THAT(at(2), HasSubstr("found 18446744073709551615"));
  EXPECT_EQ(VectorValue(document, "")[0].int64(), 3000000000);
}

TEST(VectorValue, AWholeFractionIsAnInteger) { EXPECT_EQ(VectorValue(json(8.0), "").int32(), 8); }

TEST(VectorValue, ABooleanIsNoNumberAndANumberNoBoolean) {
  const json document = {true, 1};
  EXPECT_EQ(refusal(document, [](const VectorValue& top) { top[1].boolean(); }),
            "/1: expected true or false, found 1");
  EXPECT_THAT(refusal(document, [](const VectorValue& top) { top[0].int32(); }),
              HasSubstr("found true"));
}

TEST(VectorValue, OneOfListsTheNames) {
  const json document = {{"op", "bild"}};
  EXPECT_EQ(refusal(document,
                    [](const VectorValue& top) {
                      top["op"].one_of({"build", "update"});
                    }),
            "/op: expected one of build, update, found \"bild\"");
}

TEST(VectorValue, ARaggedTableNamesTheRow) {
  const json document = {{1, 2}, {3}};
  EXPECT_EQ(refusal(document, [](const VectorValue& top) { top.table(); }),
            "/1: expected an array of 2 integers, found an array of 1");
}

TEST(VectorValue, ATableHasTheShapeThatIsGiven) {
  const json document = {{"data", {{1, 2}}}, {"shape", {2, 1}}};
  EXPECT_EQ(refusal(document, [](const VectorValue& top) { top["data"].table(top["shape"]); }),
            "/shape: expected the shape of the table, [1, 2], found [2, 1]");
}

TEST(VectorValue, AnEmptyTableTakesItsColumnsFromTheShape) {
  const json document = {{"data", json::array()}, {"shape", {0, 5}}};
  const VectorValue top(document, "");
  const VectorTable table = top["data"].table(top["shape"]);
  EXPECT_EQ(table.rows, 0);
  EXPECT_EQ(table.cols, 5);
  EXPECT_THAT(table.data, IsEmpty());
}

TEST(VectorValue, ATableMayHaveRowsWithoutColumns) {
  const VectorTable table = VectorValue(json::parse("[[], []]"), "").table();
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.cols, 0);
}

TEST(VectorValue, NullIsAbsentForFindAndAFaultForReaders) {
  const json document = {{"counts", nullptr}};
  const VectorValue top(document, "");
  EXPECT_FALSE(top.has("counts"));
  EXPECT_FALSE(top.has("others"));
  EXPECT_EQ(refusal(document, [](const VectorValue& value) { value["counts"].int32s(); }),
            "/counts: expected an array of integers, found null");
}

TEST(VectorValue, MembersComeInTheOrderOfTheirKeysWithEscapedPointers) {
  const json document = {{"b/c", 2}, {"a", 1}};
  std::vector<std::string> pointers;
  for (const auto& [key, value] : VectorValue(document, "/ids").members())
    pointers.push_back(value.pointer());
  EXPECT_THAT(pointers, ElementsAre("/ids/a", "/ids/b~1c"));
}

TEST(VectorValue, AnIndexBehindTheEndSaysHowManyThereAre) {
  EXPECT_EQ(refusal(json::parse("[1]"), [](const VectorValue& top) { top[std::size_t{1}]; }),
            ": expected more than 1 elements, found 1");
}

}  // namespace
}  // namespace hybridscope::vector_value_test
