public import Foundation
public import ObjectModel
import Synchronization

/// A reference to a version of a model: the model itself, a file that contains it, or only its checksum.
///
/// A file is read once, when the version is first needed. A version known only by its checksum can be recognized in a store. If its model
/// is needed, another reference with the same checksum must provide it.
public final class ManagedObjectModelReference: Sendable {
  private enum Source: Sendable {
    case model(ManagedObjectModel)
    case file(URL, versionName: String?)
    case text(String)
    case checksum
  }
  private let source: Source
  private let expectedChecksum: String?
  private let resolved = Mutex<CompiledModel?>(nil)

  private init(_ source: Source, _ checksum: String?) {
    self.source = source
    expectedChecksum = checksum
  }

  /// Creates a reference to a model.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - versionChecksum: The expected checksum of the model, or nil for any. If the checksum differs, using the reference throws.
  public convenience init(_ model: ManagedObjectModel, versionChecksum: String? = nil) {
    self.init(.model(model), versionChecksum)
  }

  /// Creates a reference to a file: an `.xcdatamodeld` bundle, an `.xcdatamodel` bundle, or its `contents` file.
  ///
  /// - Parameters:
  ///   - url: The file.
  ///   - versionName: The name of a version in an `.xcdatamodeld` bundle, such as `Library 2`, or nil for the current version.
  ///   - versionChecksum: The expected checksum of the model, or nil for any.
  public convenience init(contentsOf url: URL, versionName: String? = nil, versionChecksum: String? = nil) {
    self.init(.file(url, versionName: versionName), versionChecksum)
  }

  /// Creates a reference to the text of a model file, which generated code contains for earlier versions. The text is parsed when the
  /// version is first needed.
  @_spi(Generated) public convenience init(text: String) { self.init(.text(text), nil) }

  /// Creates a reference to a version of which only the checksum (``CompiledModel/checksum``) is known.
  public convenience init(versionChecksum: String) { self.init(.checksum, versionChecksum) }

  /// Creates a reference to a version in a versioned model.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unknownModelReference`` if the versioned model has no such version.
  public convenience init(_ versions: VersionedModel, versionName: String) throws(StoreError) {
    guard let model = versions.version(named: versionName) else {
      let names = versions.versions.map { "“\($0.name)”" }.joined(separator: ", ")
      throw StoreError(.unknownVersion(versionName, model: versions.name, known: names), operation: .migrate)
    }
    self.init(model)
  }

  /// Whether only the checksum of the version is known.
  package var hasChecksumOnly: Bool { if case .checksum = source { true } else { false } }

  /// The checksum of the version.
  ///
  /// - Throws: The errors of ``resolvedModel``, if the model must be read.
  public var versionChecksum: String {
    get throws {
      if let expectedChecksum, hasChecksumOnly { return expectedChecksum }
      return try compiledModel.checksum
    }
  }

  /// The model of the version.
  ///
  /// - Throws: ``StoreError``: ``StoreError/Code/unknownModelReference`` if only the checksum is known or the file cannot be read,
  ///   ``StoreError/Code/modelChecksumMismatch`` if the model does not have the expected checksum. ``ModelValidationError`` if the model is
  ///   invalid.
  public var resolvedModel: ManagedObjectModel { get throws { try compiledModel.model } }

  /// The compiled model, created on first use.
  package var compiledModel: CompiledModel {
    get throws {
      if let known = resolved.withLock({ $0 }) { return known }
      let compiled = try CompiledModel(try loadModel())
      if let expectedChecksum, expectedChecksum != compiled.checksum {
        throw StoreError(.checksumMismatch(found: compiled.checksum, expected: expectedChecksum), operation: .migrate)
      }
      resolved.withLock { $0 = compiled }
      return compiled
    }
  }

  private func loadModel() throws -> ManagedObjectModel {
    switch source {
    case .model(let model): return model
    case .checksum:
      throw StoreError(.modelOfChecksumUnknown(expectedChecksum ?? ""), operation: .migrate)
    case .text(let text):
      do { return try ManagedObjectModel(xmlData: Data(text.utf8)) } catch {
        throw StoreError(.unreadableVersionFile, operation: .migrate, underlying: error)
      }
    case .file(let url, let versionName):
      do {
        guard let versionName else { return try ManagedObjectModel(contentsOf: url) }
        let versions = try VersionedModel(contentsOf: url)
        guard let model = versions.version(named: versionName) else {
          let names = versions.versions.map { "“\($0.name)”" }.joined(separator: ", ")
          throw StoreError(.unknownVersion(versionName, model: nil, known: names), operation: .migrate, path: url.path)
        }
        return model
      } catch let error as ModelFileError {
        throw StoreError(.unreadableVersionFile, operation: .migrate, path: url.path, underlying: error)
      }
    }
  }
}
