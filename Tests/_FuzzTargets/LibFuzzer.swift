// The functions that the program of the package Fuzzing calls for each input.
import Foundation
import Synchronization

private let current = Mutex<FuzzTarget?>(nil)

/// Selects the target. Returns false if the name is unknown.
@_cdecl("cipherdata_fuzz_choose")
public func chooseFuzzTarget(_ name: UnsafePointer<CChar>) -> Bool {
  let target = FuzzTarget.named(String(cString: name))
  current.withLock { $0 = target }
  return target != nil
}

/// Writes the initial inputs of the selected target to a folder.
@_cdecl("cipherdata_fuzz_seeds")
public func writeFuzzSeeds(_ folder: UnsafePointer<CChar>) -> Bool {
  guard let target = current.withLock({ $0 }) else { return false }
  let place = URL(fileURLWithPath: String(cString: folder), isDirectory: true)
  for (number, seed) in target.seeds.enumerated() {
    guard (try? seed.write(to: place.appendingPathComponent("seed-\(number)"))) != nil else { return false }
  }
  return true
}

/// Passes an input to the selected target. If it finds a problem, prints it to standard error and returns false.
@_cdecl("cipherdata_fuzz_one")
public func playFuzzInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
  guard let target = current.withLock({ $0 }) else { return false }
  guard let problem = target.problem(bytes.map { Data(bytes: $0, count: count) } ?? Data()) else { return true }
  try? FileHandle.standardError.write(contentsOf: Data("PROBLEM \(target.name): \(problem)\n".utf8))
  return false
}
