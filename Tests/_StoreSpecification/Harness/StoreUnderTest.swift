// StoreUnderTest: what the specification must know of a kind of store to test it.
public import Foundation
public import ObjectStore

/// A kind of store that the specification is run over.
public protocol StoreUnderTest: Sendable {
  /// The name in test reports.
  var name: String { get }
  /// Whether rows outlive closing.
  var keepsRows: Bool { get }
  /// Registers the class of the store, if it is not built in. Called before every test.
  func register()
  /// Describes a store that does not exist yet, whose files are to lie in an empty folder. The same folder gives the same store.
  func storeDescription(in folder: URL) -> PersistentStoreDescription
}

extension StoreUnderTest {
  /// Does nothing: for stores that are built in.
  public func register() {}
}

/// The built-in in-memory store.
public struct InMemoryStoreUnderTest: StoreUnderTest {
  /// The in-memory store.
  public init() {}
  /// Its type's name.
  public var name: String { "InMemory" }
  /// No: closing it forgets everything.
  public var keepsRows: Bool { false }
  /// A new store, whatever the folder.
  public func storeDescription(in folder: URL) -> PersistentStoreDescription { PersistentStoreDescription(type: .inMemory) }
}

/// A case of the specification that a kind of store is not held to.
public struct SpecificationException: Sendable {
  /// The suite's name, such as `TransactionSpecification`.
  public let suite: String
  /// The case's name; nil for the whole suite.
  public let caseName: String?
  /// Why.
  public let reason: String

  /// Makes an exception.
  public init(suite: String, case caseName: String? = nil, reason: String) {
    self.suite = suite
    self.caseName = caseName
    self.reason = reason
  }
}
