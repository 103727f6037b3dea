import SyncCore
import SyncCrypto
import SyncHub

/// Checks whether a store's model has any of the entities that a zone contains, before the store becomes a replica.
///
/// Devices can have different versions of a model: records of entities that a store does not have are kept for later versions. A store that
/// has none of them was opened with a different model, and would share nothing.
struct ZoneModelCheck {
  let schema: SyncSchema
  let sealing: ZoneSealing
  let zone: ZoneID

  private static let pageSize = 100

  /// Reads records until one of a known entity: usually the first one.
  ///
  /// - Throws: ``SyncError`` with `differentModel` if the zone has objects, but none of an entity of the model.
  func check(_ hub: any HubConnection, path: String?, isolation: isolated (any Actor)? = #isolation) async throws {
    var hasObjects = false
    var request = PullRequest(
      incarnation: nil, base: ChainPoint(), known: [], position: nil, listed: ChainPoint(), maximumCount: Self.pageSize,
      omitsDeleted: true)
    while case .page(let page) = try await hub.pull(request, zone: zone) {
      for stored in page.records {
        // The first round keeps records that cannot be opened.
        guard let record = try? sealing.open(stored).record else { continue }
        if schema.number(of: record.entity) != nil { return }
        if !record.isDeleted, record.entity != ModelRequirement.entity { hasObjects = true }
      }
      if page.isLast { break }
      request.start = request.start ?? page.head.sequence
      if let last = page.records.last { request.position = PagePosition(sequence: last.sequence, name: last.name) }
      for entry in page.commits {
        let head = try ZoneHashing.shared.head(after: request.listed.head, adding: entry.digest)
        request.listed = ChainPoint(sequence: entry.sequence, head: head)
      }
    }
    if hasObjects { throw SyncError(.differentModel, path: path) }
  }
}

extension SyncError.Reason {
  fileprivate static var differentModel: Self {
    Self(
      .differentModel,
      "The objects of the account are of another model: the store's model has none of their entities. Join with a store of the same model, "
        + "or create an account for this store. Nothing was changed.")
  }
}
