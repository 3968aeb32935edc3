#include "gui/model/user_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace hybridscope::layout_store_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool any_panel(std::string_view) { return true; }

LayoutTree two_tabs() { return LayoutTree::leaf({"pool", "log"}, 1); }

TEST(LayoutStore, WhatIsSavedIsLoadedUnderItsName) {
  const test::TemporaryFolder folder;
  const LayoutStore store(folder / "state/layouts");
  ASSERT_TRUE(store.save("wide", two_tabs()).ok());
  ASSERT_TRUE(store.save("wide", LayoutTree::leaf({"log"})).ok());
  ASSERT_TRUE(store.save("tall", two_tabs()).ok());
  EXPECT_EQ(store.load("wide", any_panel).value().tree, LayoutTree::leaf({"log"}));
  EXPECT_EQ(store.load("tall", any_panel).value().tree, two_tabs());
}

TEST(LayoutStore, NamesAreThoseOfLayoutsInOrder) {
  const test::TemporaryFolder folder;
  for (const char* file : {"wide.json", "Tall.json", "v1.2.json", ".hidden.json", "notes.txt",
                           "wide.json.77.part", "caf\xC3\xA9.json", ".json"})
    folder.write(file, "");
  std::filesystem::create_directory(folder / "folder.json");
  EXPECT_THAT(LayoutStore(folder.path()).names().value(), ElementsAre("Tall", "v1.2", "wide"));
}

TEST(LayoutStore, WithoutTheFolderThereAreNone) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(LayoutStore(folder / "nowhere").names().value(), IsEmpty());
}

TEST(LayoutStore, AFolderThatCannotBeReadIsAnError) {
  const test::TemporaryFolder folder;
  folder.write("layouts", "");
  const auto names = LayoutStore(folder / "layouts").names();
  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().kind, ErrorKind::io);
  EXPECT_FALSE(LayoutStore(folder / "layouts").save("wide", two_tabs()).ok());
}

TEST(LayoutStore, AMissingLayoutIsNotFound) {
  const test::TemporaryFolder folder;
  const LayoutStore store(folder.path());
  for (const Error& error : {store.load("wide", any_panel).error(), store.remove("wide").error()}) {
    EXPECT_EQ(error.kind, ErrorKind::not_found);
    EXPECT_EQ(error.message, "there is no layout \"wide\" in " + folder.path());
  }
}

TEST(LayoutStore, ARemovedLayoutIsGone) {
  const test::TemporaryFolder folder;
  const LayoutStore store(folder.path());
  ASSERT_TRUE(store.save("wide", two_tabs()).ok());
  ASSERT_TRUE(store.remove("wide").ok());
  EXPECT_THAT(store.names().value(), IsEmpty());
}

TEST(LayoutStore, NamesNoFileOutsideItsFolder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "layouts");
  folder.write("wide.json", "kept");
  const LayoutStore store(folder / "layouts");
  EXPECT_EQ(store.load("../wide", any_panel).error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(store.save("../wide", two_tabs()).error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(store.remove("../wide").error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(folder.read("wide.json"), "kept");
}

TEST(LayoutStore, ABrokenLayoutIsAnErrorThatNamesTheFile) {
  const test::TemporaryFolder folder;
  folder.write("wide.json", R"({"version": 1, "layout": 7})");
  const auto loaded = LayoutStore(folder.path()).load("wide", any_panel);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message,
            (folder / "wide.json") + ": /layout: expected an object, found 7");
}

}  // namespace
}  // namespace hybridscope::layout_store_test
