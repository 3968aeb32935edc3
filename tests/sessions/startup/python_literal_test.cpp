#include "sessions/startup/python_literal.h"

#include <gmock/gmock.h>

namespace hybridscope::python_literal_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string json_of(std::string_view text) { return read_python_value(text).value.dump(); }

TEST(PythonLiteral, IsReadAsTheJsonOfTheSameValue) {
  EXPECT_EQ(json_of("{'a': True, 'b': None, 'c': -1, 'd': 0.9, 'e': 1e-05}"),
            R"({"a":true,"b":null,"c":-1,"d":0.9,"e":1e-05})");
  EXPECT_EQ(
      json_of("{'image': [1, 2], 'pair': (3, 4), 'one': (5,), 'set': {'x', 'y'}, 'none': {}}"),
      R"({"image":[1,2],"pair":[3,4],"one":[5],"set":["x","y"],"none":{}})");
  EXPECT_EQ(json_of("{1: 2}"), R"({"1":2})");
}

TEST(PythonLiteral, StringsHaveEitherQuoteAndEscapes) {
  EXPECT_EQ(json_of(R"({'a': "it's", 'b': 'say \'x\'', 'c': 'two\nlines', 'd': '\u00e9\x41'})"),
            R"({"a":"it's","b":"say 'x'","c":"two\nlines","d":"éA"})");
}

TEST(PythonLiteral, MembersOfEnumsAndDtypesAreTheirNames) {
  EXPECT_EQ(json_of("{'mode': <CUDAGraphMode.FULL_DECODE_ONLY: (2, 0)>, 'dtype': torch.bfloat16}"),
            R"({"mode":"FULL_DECODE_ONLY","dtype":"bfloat16"})");
}

TEST(PythonLiteral, CallsAreObjectsWithTheirArguments) {
  EXPECT_EQ(json_of("{'c': Config(mode=None, sizes=[1, 2]), 'path': PosixPath('/a')}"),
            R"({"c":{"mode":null,"sizes":[1,2]},"path":"/a"})");
}

TEST(PythonLiteral, WhatHasNoValueIsNamed) {
  const PythonValue value = read_python_value(
      "{'a': <vllm.Foo object at 0x7f2c>, 'b': {'c': <function f at 0x1>, 'd': 1}}");
  EXPECT_EQ(value.value.dump(), R"({"b":{"d":1}})");
  EXPECT_THAT(value.not_read, ElementsAre("a", "b.c"));
  EXPECT_FALSE(value.is_cut);
}

// The last value may go on behind the cut, so it is not known.
TEST(PythonLiteral, ACutTextHasTheMembersInFrontOfTheCut) {
  for (const char* text : {"{'a': 1, 'b': {'c': 2, 'd': 81", "{'a': 1, 'b': {'c': 2, 'd': 'x...",
                           "{'a': 1, 'b': {'c': 2, 'd'", "{'a': 1, 'b': {'c': 2, ..."}) {
    const PythonValue value = read_python_value(text);
    EXPECT_EQ(value.value.dump(), R"({"a":1,"b":{"c":2}})") << text;
    EXPECT_TRUE(value.is_cut) << text;
    EXPECT_THAT(value.not_read, IsEmpty()) << text;
  }
}

TEST(PythonLiteral, NothingIsReadOfWhatIsNoValue) {
  EXPECT_EQ(json_of(""), "null");
  EXPECT_EQ(json_of("}"), "null");
  EXPECT_EQ(json_of(std::string(100000, '[')).substr(0, 2), "[[");
}

TEST(PythonArguments, EndWhereTheyAreNoArgumentsAnyMore) {
  EXPECT_EQ(read_python_arguments("model='m', dtype=torch.bfloat16, speculative_config="
                                  "SpeculativeConfig(method='mtp', num_spec_tokens=3), seed=0, and")
                .value.dump(),
            R"({"model":"m","dtype":"bfloat16",)"
            R"("speculative_config":{"method":"mtp","num_spec_tokens":3},"seed":0})");
}

}  // namespace
}  // namespace hybridscope::python_literal_test
