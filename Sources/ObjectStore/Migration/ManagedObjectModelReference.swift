// ManagedObjectModelReference: a version of a model, named by value, by file or by checksum.
public import Foundation
public import ObjectModel
import Synchronization

/// A version of a model: the model itself, a file that holds it, or only its checksum.
///
/// Files are read when the version is first needed, and only once. A version that is known by its checksum only can be recognized in a store; where
/// its model is needed, another reference of the same checksum has to give it.
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

  /// A version by its model.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - versionChecksum: The checksum that the model is to have: with another one, using the reference throws. Nil takes any.
  public convenience init(_ model: ManagedObjectModel, versionChecksum: String? = nil) {
    self.init(.model(model), versionChecksum)
  }

  /// A version by its file: an `.xcdatamodeld` bundle, an `.xcdatamodel` bundle or the `contents` of one.
  ///
  /// - Parameters:
  ///   - url: The file.
  ///   - versionName: The name of a version in an `.xcdatamodeld` bundle, such as `Library 2`; nil for the current one.
  ///   - versionChecksum: The checksum that the model is to have; nil takes any.
  public convenience init(contentsOf url: URL, versionName: String? = nil, versionChecksum: String? = nil) {
    self.init(.file(url, versionName: versionName), versionChecksum)
  }

  /// A version by the text of its file, as generated code has it of earlier versions. It is read when the version is first needed.
  public convenience init(_text text: String) { self.init(.text(text), nil) }

  /// A version that is known by its checksum (``CompiledModel/checksum``) only.
  public convenience init(versionChecksum: String) { self.init(.checksum, versionChecksum) }

  /// A version of a bundle of versions.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unknownModelReference`` when the bundle has no such version.
  public convenience init(_ versions: VersionedModel, versionName: String) throws(StoreError) {
    guard let model = versions.version(named: versionName) else {
      let names = versions.versions.map { "“\($0.name)”" }.joined(separator: ", ")
      throw StoreError(.unknownVersion(versionName, model: versions.name, known: names), operation: .migrate)
    }
    self.init(model)
  }

  /// Whether only the checksum is known.
  package var hasChecksumOnly: Bool { if case .checksum = source { true } else { false } }

  /// The checksum of the version.
  ///
  /// - Throws: As ``resolvedModel``, where the model has to be read for it.
  public var versionChecksum: String {
    get throws {
      if let expectedChecksum, hasChecksumOnly { return expectedChecksum }
      return try compiledModel.checksum
    }
  }

  /// The model.
  ///
  /// - Throws: ``StoreError``: ``StoreError/Code/unknownModelReference`` when only the checksum is known or the file cannot be read,
  ///   ``StoreError/Code/modelChecksumMismatch`` when the model does not have the checksum. ``ModelValidationError`` for mistakes of the model.
  public var resolvedModel: ManagedObjectModel { get throws { try compiledModel.model } }

  /// The model, frozen. Made on first use.
  package var compiledModel: CompiledModel {
    get throws {
      if let known = resolved.withLock({ $0 }) { return known }
      let compiled = try CompiledModel(try loadModel())
      if let expectedChecksum, expectedChecksum != compiled.checksum {
        throw StoreError(.otherChecksum(found: compiled.checksum, expected: expectedChecksum), operation: .migrate)
      }
      resolved.withLock { $0 = compiled }
      return compiled
    }
  }

  private func loadModel() throws -> ManagedObjectModel {
    switch source {
    case .model(let model): return model
    case .checksum:
      throw StoreError(.onlyChecksum(expectedChecksum ?? ""), operation: .migrate)
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
