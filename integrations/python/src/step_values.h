// How an engine's thread takes what the engine goes on to change.
#pragma once

#include <pybind11/pybind11.h>

#include "integrations/python/src/record_text.h"
#include "integrations/python/src/repeated_texts.h"
#include "integrations/python/src/tensors.h"

namespace hybridscope {

// Text, numbers and lists become text at once, arrays of the host are copied, and tensors of a
// device come with the next launch(). Each function, the destructor too, requires the GIL.
class StepValues {
 public:
  explicit StepValues(Tensors tensors) : tensors_(std::move(tensors)) {}

  // The text of lists, dicts, text and numbers; `name` (an interned str) is the same for what is
  // alike in each step.
  RecordText part(const pybind11::str& name, const pybind11::handle& value);
  RecordText snapshot(const pybind11::handle& value);
  // The rows of an array (one dimension or more) that `rows`, whole numbers of the host, name.
  RecordText rows(const pybind11::handle& array, const pybind11::handle& rows);
  // A dict of `fields` (a dict); those in `made` are what is there. Left out: objects that are no
  // JSON and have no tolist(), and tensors of types that are not taken. Matrices without elements
  // tell their shape.
  RecordText fields(const pybind11::dict& fields, const pybind11::dict& made);
  // Begins the copies of the device's tensors.
  void launch() { tensors_.launch(); }

 private:
  RepeatedTexts repeated_;
  Tensors tensors_;
};

}  // namespace hybridscope
