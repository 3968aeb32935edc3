#include "cli/interruptible_source.h"

#include "cli/interrupt.h"

namespace hybridscope {

Result<const StepStamp*> InterruptibleSource::next() {
  if (was_interrupted()) return Error{ErrorKind::not_available, "interrupted"};
  return ForwardedSource::next();
}

}  // namespace hybridscope
