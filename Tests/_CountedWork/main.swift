// The program whose operations are counted. It counts statements and allocations itself; callgrind counts instructions from outside.
//
// Arguments: "counts", "instructions" or "ratios" (Scripts/cost-ratios), and a folder; or "sizes", a folder and a number of rows
// (Scripts/cost-sizes). It prints a line for each operation. Everything runs on the main thread, except for opening a store.
import Foundation
import SQLCipherStore
import _AllocationCounter

#if CIPHERDATA_CHECKS
  import ObjectModel
  import Synchronization
#endif

/// Runs an operation on a new store.
///
/// - Parameter count: Called with the closure to be counted.
func play(_ work: CountedWork, books: Int, in folder: URL, observer: SQLObserver? = nil, _ count: (() throws -> Void) throws -> Void) throws
{
  let store = try CountedStore(books: books, in: folder, observer: observer)
  try work.prepare(store)
  var found = 0
  try count { found = try work.run(store, books) }
  try store.remove()
  if found == 0 {
    print("\(work.name) found nothing")
    exit(1)
  }
}

/// Returns the statements and allocations of an operation, counted with and without an observer.
func counts(of work: CountedWork, in folder: URL) throws -> (statements: Int, allocations: UInt64) {
  let observer = SQLObserver()
  var statements = 0
  try play(work, books: 80, in: folder, observer: observer) { body in
    observer.reset()
    try body()
    statements = observer.count
  }
  // One-time allocations have happened by now. A few allocations vary, so the minimum of several runs counts.
  var allocations = UInt64.max
  for _ in 0..<5 {
    try play(work, books: 80, in: folder) { body in
      allocation_counter_start_on_this_thread()
      defer { _ = allocation_counter_stop() }
      try body()
      allocations = min(allocations, allocation_counter_stop().allocations)
    }
  }
  return (statements, allocations)
}

do {
  #if CIPHERDATA_CHECKS
    CheckThrottle.arePaused.store(true, ordering: .relaxed)
  #endif
  let arguments = CommandLine.arguments
  if arguments.count == 4, arguments[1] == "sizes", let rows = Int(arguments[3]) {
    try Sizes(in: URL(fileURLWithPath: arguments[2])).measure(upTo: rows)
    exit(0)
  }
  guard arguments.count == 3 else { throw CocoaError(.featureUnsupported) }
  let folder = URL(fileURLWithPath: arguments[2])
  if arguments[1] == "ratios" { exit(try Ratios.measure(in: folder) ? 0 : 1) }
  for work in CountedWork.all {
    if arguments[1] == "counts" {
      let counts = try counts(of: work, in: folder)
      print(work.name, counts.statements, counts.allocations)
    } else {
      try play(work, books: 2, in: folder) { try $0() }
      try play(work, books: 8, in: folder) { body in
        counted_work_begins()
        defer { counted_work_ends() }
        try body()
      }
      print(work.name)
    }
  }
} catch {
  print("failed: \(error)")
  exit(1)
}
