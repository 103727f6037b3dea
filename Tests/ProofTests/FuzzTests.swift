import Foundation
import XCTest
import _FuzzTargets
import _TestSupport

/// Runs the parsers on untrusted input. Scripts/torture runs the full form with libFuzzer.
final class FuzzTests: XCTestCase {
  private func corpus(_ target: FuzzTarget) throws -> [Data] {
    let folder = Fixtures.repository.appendingPathComponent("Fuzzing/Corpora/\(target.name)", isDirectory: true)
    // A parser without interesting inputs has no folder.
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try names.map { try Data(contentsOf: folder.appendingPathComponent($0)) }
  }

  func testSeedsAndCorpusInputsPass() throws {
    for target in FuzzTarget.all {
      XCTAssertFalse(target.seeds.isEmpty, target.name)
      for input in try target.seeds + corpus(target) {
        if let problem = target.problem(input) { XCTFail("\(target.name): \(problem): \(input.base64EncodedString().prefix(400))") }
      }
    }
  }

  func testParsersReturnOrThrowTypedErrorsForAnyInput() throws {
    for target in FuzzTarget.all {
      let mutator = FuzzMutator(target, corpus: try corpus(target), longest: 1 << 13)
      var random = SeededGenerator(seed: 22)
      for _ in 0..<RandomSteps.count(400) {
        let input = mutator.input(&random)
        if let problem = target.problem(input) { XCTFail("\(target.name): \(problem): \(input.base64EncodedString().prefix(400))") }
      }
    }
  }
}
