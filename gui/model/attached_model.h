// The line about the attached engine, under the run bar.
#pragma once

#include <cstdint>
#include <string>

#include "gui/model/attached_engine.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

enum class AttachedTone : std::uint8_t { ok, waits, bad };

struct AttachedModel {
  std::string state;  // "live"
  AttachedTone tone = AttachedTone::waits;
  std::string place;
  std::string newest;  // "newest step 812", "12 new steps"; empty: no step has come
  std::string behind;  // "412 steps behind"; empty: it keeps up
  std::string hold;    // "held after step 12: ..."; empty: it runs, as far as is known
  std::string error;   // its first line, the rest is of AttachStatus; or what keeps from a verdict
  bool follows = true;
  bool can_hold = false;
  bool is_held = false;
  bool is_hold_asked = false;
  bool holds_at_findings = false;
};

enum class Exactness : std::uint8_t { counted, estimated };
// "412 steps behind"; empty for steps that are under way.
std::string behind_words(std::int64_t num_behind, Exactness exactness);

// `run`: the open one; null: no step has come.
AttachedModel make_attached_model(const AttachedEngine& engine, const ShownRun* run);

// What the window shows before the first step. "Waiting for unix:engine.sock: ..."
std::string waiting_words(const AttachedEngine& engine);

}  // namespace hybridscope
