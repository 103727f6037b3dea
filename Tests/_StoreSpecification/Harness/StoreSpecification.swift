public import Foundation
public import ObjectModel
public import ObjectStore
public import XCTest
import _TestSupport

/// The base class of all suites of the specification, which every store must meet.
///
/// XCTest on Linux does not find test methods that a class inherits from another module. So the suites list their cases, and one method of
/// a test class runs them all: ``XCTest/XCTestCase/verify(_:meets:exceptions:)``. Each case is still reported by its own name.
open class StoreSpecification: XCTestCase {
  /// A case: its name and the method of an instance.
  public typealias Case = (name: String, body: (StoreSpecification) throws -> Void)

  /// The cases.
  open class var cases: [Case] { [] }

  /// The store that the suite tests.
  public fileprivate(set) var storeUnderTest: any StoreUnderTest = InMemoryStoreUnderTest()
  private var folders: [TemporaryFolder] = []
  private var openStores: [OpenStore] = []

  /// Returns the cases of a suite from its methods.
  public class func list<Suite: StoreSpecification>(_ methods: [(String, (Suite) -> () throws -> Void)]) -> [Case] {
    methods.map { name, method in
      (
        name,
        { suite in
          guard let suite = suite as? Suite else { return XCTFail("\(name) belongs to \(Suite.self).") }
          try method(suite)()
        }
      )
    }
  }

  /// Makes an empty folder that is removed after the test.
  public func makeFolder() throws -> URL {
    let folder = try TemporaryFolder("StoreSpecification")
    folders.append(folder)
    return folder.url
  }

  /// Makes a store in a separate folder.
  public func makeStore(_ model: CompiledModel = SpecificationModels.library) throws -> OpenStore {
    try openStore(in: makeFolder(), model)
  }

  /// Opens or creates the store in a folder.
  ///
  /// - Parameter configure: Changes the description.
  public func openStore(
    in folder: URL, _ model: CompiledModel = SpecificationModels.library, _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> OpenStore {
    var description = storeUnderTest.storeDescription(in: folder)
    configure(&description)
    let open = try OpenStore(description, model: model)
    openStores.append(open)
    return open
  }

  open override func tearDown() {
    for open in openStores where open.coordinator.persistentStores.contains(where: { $0 === open.persistentStore }) {
      XCTAssertNoThrow(try open.close())
    }
    openStores.removeAll()
    folders.removeAll()
    super.tearDown()
  }
}

extension XCTestCase {
  /// Runs suites on a store, and reports each of their cases separately.
  ///
  /// The environment variable `SPECIFICATION_CASE` limits the cases to those whose suite or name contains its value.
  /// - Parameters:
  ///   - store: The store.
  ///   - suites: The suites: ``StoreSpecification/storeSuites`` or ``StoreSpecification/objectSuites``.
  ///   - exceptions: The cases that the store need not pass. An exception that names no case is a failure.
  public func verify(
    _ store: any StoreUnderTest, meets suites: [StoreSpecification.Type], exceptions: [SpecificationException] = [],
    file: StaticString = #filePath, line: UInt = #line
  ) {
    let filter = ProcessInfo.processInfo.environment["SPECIFICATION_CASE"]
    var failed: [String] = []
    for exception in exceptions {
      let suite = suites.first { "\($0)" == exception.suite }
      if suite == nil || (exception.caseName.map { name in suite?.cases.contains { $0.name == name } == false } ?? false) {
        failed.append("the exception \(exception.suite).\(exception.caseName ?? "*") names no case")
      }
    }
    for suite in suites {
      for (name, body) in suite.cases {
        let full = "\(suite).\(name)"
        if let filter, !full.contains(filter) { continue }
        if exceptions.contains(where: { $0.suite == "\(suite)" && ($0.caseName ?? name) == name }) { continue }
        let test = suite.init(
          name: "\(name) [\(store.name)]",
          testClosure: { test in
            guard let test = test as? StoreSpecification else { return }
            test.storeUnderTest = store
            store.register()
            try body(test)
          })
        test.run()
        if test.testRun?.hasSucceeded != true { failed.append(full) }
      }
    }
    // XCTest's assertions use the current test, which each case above has replaced.
    if !failed.isEmpty {
      recordFailure(
        withDescription: "\(store.name) fails: \(failed.joined(separator: ", "))", inFile: "\(file)", atLine: Int(line), expected: true)
    }
  }
}
