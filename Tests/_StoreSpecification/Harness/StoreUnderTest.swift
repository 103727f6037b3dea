public import Foundation
public import ObjectStore

/// A kind of store that the specification tests.
public protocol StoreUnderTest: Sendable {
  /// The name in test reports.
  var name: String { get }
  /// Whether rows persist after closing.
  var keepsRows: Bool { get }
  /// Registers the store's class, unless it is built in. Called before every test.
  func register()
  /// Returns the description of a store that does not exist yet, with its files in an empty folder. The same folder yields the same store.
  func storeDescription(in folder: URL) -> PersistentStoreDescription
}

extension StoreUnderTest {
  /// Does nothing, for built-in stores.
  public func register() {}
}

/// The built-in in-memory store.
public struct InMemoryStoreUnderTest: StoreUnderTest {
  /// Creates the in-memory store.
  public init() {}
  /// The name of its type.
  public var name: String { "InMemory" }
  /// False: closing the store releases its rows.
  public var keepsRows: Bool { false }
  /// Returns the description of a new store, whatever the folder.
  public func storeDescription(in folder: URL) -> PersistentStoreDescription { PersistentStoreDescription(type: .inMemory) }
}

/// A case of the specification that a kind of store need not pass.
public struct SpecificationException: Sendable {
  /// The suite's name, such as `TransactionSpecification`.
  public let suite: String
  /// The case's name; nil for the whole suite.
  public let caseName: String?
  /// The reason of the exception.
  public let reason: String

  /// Creates an exception.
  public init(suite: String, case caseName: String? = nil, reason: String) {
    self.suite = suite
    self.caseName = caseName
    self.reason = reason
  }
}
