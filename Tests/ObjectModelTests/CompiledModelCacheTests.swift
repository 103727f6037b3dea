import Dispatch
import XCTest

@testable import ObjectModel

/// When a compiled model is reused.
final class CompiledModelCacheTests: XCTestCase {
  private func makeModel(_ name: String = "Book") -> ManagedObjectModel {
    ManagedObjectModel {
      Entity(name) {
        Attribute("title", .string).required()
      }
    }
  }

  func testCopiesOfAModelAreCompiledOnce() throws {
    let model = makeModel()
    let copy = model
    XCTAssertTrue(try CompiledModel.compiling(model) === CompiledModel.compiling(copy))
  }

  func testChangedCopiesAreCompiledAgain() throws {
    let model = makeModel()
    let compiled = try CompiledModel.compiling(model)
    var changed = model
    changed.entities[0].name = "Film"
    XCTAssertEqual(try CompiledModel.compiling(changed).entities.map(\.name), ["Film"])
    changed = model
    changed.versionIdentifiers = ["2"]
    XCTAssertEqual(try CompiledModel.compiling(changed).model.versionIdentifiers, ["2"])
    changed = model
    changed.userInfo = ["a": "e\u{301}"]
    let decomposed = try CompiledModel.compiling(changed)
    changed.userInfo = ["a": "\u{e9}"]
    let composed = try CompiledModel.compiling(changed)
    XCTAssertFalse(decomposed === composed, "equal texts, other bytes")
    changed = model
    changed.configurations = [ModelConfiguration(name: "c", entityNames: ["Book"])]
    XCTAssertNotNil(try CompiledModel.compiling(changed).entityNumbers(inConfiguration: "c"))
    XCTAssertTrue(try CompiledModel.compiling(model) === compiled)
  }

  func testEqualModelsCreatedSeparatelyAreCompiledSeparately() throws {
    XCTAssertFalse(try CompiledModel.compiling(makeModel()) === CompiledModel.compiling(makeModel()))
  }

  func testOldModelsAreEvicted() throws {
    weak var first: CompiledModel?
    do { first = try CompiledModel.compiling(makeModel("First")) }
    XCTAssertNotNil(first)
    for number in 0..<8 { _ = try CompiledModel.compiling(makeModel("Other\(number)")) }
    XCTAssertNil(first)
  }

  func testAnInvalidModelThrowsEachTime() {
    let model = ManagedObjectModel { Entity("Book", parent: "Nobody") }
    for _ in 0..<2 { XCTAssertThrowsError(try CompiledModel.compiling(model)) }
  }

  func testManyThreadsMayCompileAtOnce() throws {
    let model = makeModel()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<50 { XCTAssertEqual(try? CompiledModel.compiling(model).entities.count, 1) }
    }
  }
}
