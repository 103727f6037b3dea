import Foundation
import ObjectStore
package import SyncCore

/// The record in a zone with the least version of the model that its devices must have.
///
/// It is sealed like any other record, so a hub can neither read nor change it. No model has its entity.
package enum ModelRequirement {
  package static let id = RecordID(UUID.digest(of: "CipherData model requirement"))
  static let entity = EntityID(id.high)
  static let property = PropertyID(id.low)

  /// The name under which a store that could not import because of it keeps what was required.
  static let unmet = "requiredModel"
}

extension StoreReplica {
  /// The version of the store's model; nil if it has no identifier that is a list of numbers.
  package var modelVersion: ModelVersion? { ModelVersion(of: schema.model) }

  /// Returns the least version of the model that the zone requires, as far as the store knows; nil if any version may be used.
  package func requiredModelVersion() throws -> ModelVersion? {
    if let unmet = try storedValue(ModelRequirement.unmet) { return ModelVersion(String(decoding: unmet, as: UTF8.self)) }
    return try importedRequirement()
  }

  private func importedRequirement() throws -> ModelVersion? {
    guard case .text(let text)? = try row(of: ModelRequirement.id)?.entry.state?[ModelRequirement.property]?.value else { return nil }
    return ModelVersion(text)
  }

  /// Returns the version that the zone requires, if the store's model does not have it. The store then sends and imports nothing.
  func unmetRequirement() throws -> ModelVersion? { try requiredModelVersion().flatMap { isMet($0) ? nil : $0 } }

  private func isMet(_ required: ModelVersion) -> Bool { modelVersion.map { required <= $0 } ?? false }

  /// Prevents an import if the zone requires a later version of the model.
  func checkRequirement() throws {
    guard let state = running.state, let stored = running.storedState, state.zone.base != stored.zone.base else { return }
    guard let required = try importedRequirement(), !isMet(required) else {
      // It is met, or was lowered.
      return try removeValue(ModelRequirement.unmet)
    }
    throw SyncError(.modelTooOld(required: required, known: modelVersion), path: path)
  }

  /// Stores which version the zone requires, after an import was prevented.
  func setUnmetRequirement(_ version: String) throws {
    try transaction {
      guard try replicaState() != nil else { return }
      try store(Data(version.utf8), as: ModelRequirement.unmet)
    }
  }

  /// Requires all devices of the zone to have at least a version of the model.
  ///
  /// - Parameter version: The version; nil for that of the store's model.
  /// - Throws: ``SyncError`` with `unsupportedModel` if the store's model has no version or an earlier one.
  package func requireModelVersion(_ version: ModelVersion?) throws -> ModelVersion {
    try transaction {
      var state = try knownState()
      guard let known = modelVersion else { throw SyncError(.noModelVersion, path: path) }
      let required = version ?? known
      if known < required { throw SyncError(.olderModel(known, than: required), path: path) }
      if try importedRequirement() == required { return required }
      let stamp = Stamp(state.zone.clock.stamp(at: wall()), state.zone.device)
      try setReplicaState(state)
      var entry = try entry(of: ModelRequirement.id) ?? RecordEntry()
      let record = Record(
        entity: ModelRequirement.entity, [ModelRequirement.property: .text(required.description)], stamp)
      entry.held = entry.held.applying(record)
      try setEntry(entry, of: ModelRequirement.id)
      return required
    }
  }
}

extension SyncError.Reason {
  static func modelTooOld(required: ModelVersion, known: ModelVersion?) -> Self {
    let present = known.map { "this device has version \($0)" } ?? "the model of this device has no version"
    var reason = Self(
      .modelTooOld,
      "The account requires version \(required) of the model, and \(present). Saves are kept on this device. Update the program: then they "
        + "are sent, and the changes of the other devices are imported.")
    reason.requiredModelVersion = required.description
    return reason
  }

  package static func invalidModelVersion(_ text: String) -> Self {
    Self(.unsupportedModel, "“\(text)” is not a version of a model: numbers with dots between them, such as 2 or 2.1. Nothing was changed.")
  }

  fileprivate static var noModelVersion: Self {
    Self(
      .unsupportedModel,
      "The model has no version that could be required: give it an identifier of numbers, such as 2 or 2.1. Nothing was changed.")
  }

  fileprivate static func olderModel(_ known: ModelVersion, than required: ModelVersion) -> Self {
    Self(
      .unsupportedModel, "The store's model has version \(known), so version \(required) cannot be required here. Nothing was changed.")
  }
}
