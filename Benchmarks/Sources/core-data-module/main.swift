// core-data-module: the cost of the CoreData module compared with the library's own classes, on the same data in the same program.
import Foundation

let folder = URL(fileURLWithPath: "/dev/shm/core-data-module-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let module = try ModuleSide(folder: folder)
let library = try await LibrarySide(folder: folder)

/// Compares the minimum times of several rounds in nanoseconds; the sides take turns.
func compare(
  _ name: String, goal: Double, count: Int, rounds: Int = 21, ofModule other: ((ModuleSide) throws -> Void)? = nil,
  _ work: (any Side) throws -> Void
) rethrows {
  var least = (module: UInt64.max, library: UInt64.max)
  func time(_ work: () throws -> Void) rethrows -> UInt64 {
    var (begin, end) = (timespec(), timespec())
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin)
    try work()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end)
    return UInt64((end.tv_sec - begin.tv_sec) * 1_000_000_000 + end.tv_nsec - begin.tv_nsec)
  }
  for _ in 0..<rounds {
    least.library = min(least.library, try time { try work(library) })
    least.module = min(least.module, try time { if let other { try other(module) } else { try work(module) } })
  }
  let (ours, theirs) = (Double(least.library) / Double(count), Double(least.module) / Double(count))
  let ratio = theirs / ours
  print(
    "\(name): library \(String(format: "%.1f", ours)) ns, module \(String(format: "%.1f", theirs)) ns, \(String(format: "%.2f", ratio)) times (goal \(goal))"
  )
}

var sum: Int64 = 0
compare("a number read", goal: 3, count: 100_000) { sum &+= $0.readNumbers() }
compare("a number written", goal: 3, count: 100_000) { $0.writeNumbers() }
compare("a number of a generated class read", goal: 3, count: 100_000, ofModule: { sum &+= $0.readGeneratedNumbers() }) {
  sum &+= $0.readNumbers()
}
compare("a number of a generated class written", goal: 3, count: 100_000, ofModule: { $0.writeGeneratedNumbers() }) { $0.writeNumbers() }
compare("a number of a class left to the plugin read", goal: 3, count: 100_000, ofModule: { sum &+= $0.readLeftNumbers() }) {
  sum &+= $0.readNumbers()
}
compare("a number of a class left to the plugin written", goal: 3, count: 100_000, ofModule: { $0.writeLeftNumbers() }) {
  $0.writeNumbers()
}
try compare("W4, a book fetched and read", goal: 1.2, count: bookCount) { sum &+= Int64(try $0.fetchAll()) }
try compare("W9, a book by its ID", goal: 1.2, count: bookCount / 10) { sum &+= Int64(try $0.readByID()) }
try compare("W13, a book changed and saved", goal: 1.2, count: bookCount / 10) { try $0.update() }
print("(\(sum))")
