import ObjectModel

extension ChangeSet {
  /// Combines the change sets of one transaction of a store, in their order. Nil for an empty list.
  ///
  /// Links of a relationship that several change sets have changed are not listed: one can have been added and removed again.
  init?(combining changeSets: [ChangeSet], of store: PersistentStore) {
    guard let last = changeSets.last else { return nil }
    if changeSets.count == 1 {
      self = last
      return
    }
    let model = store.model
    var builder = ChangeSetBuilder(model)
    var relationships: [Int: Int] = [:]
    for changes in changeSets { for links in changes.links { relationships[links.relationshipID, default: 0] += 1 } }
    builder.listsRemovedLinks = changeSets.allSatisfy(\.listsRemovedLinks)
    builder.isWhole = changeSets.contains(where: \.isWhole)
    for changes in changeSets {
      for id in changes.inserted { builder.add(.inserted, id.reference) }
      for (position, id) in changes.updated.enumerated() {
        let slots = changes.updatedSlots[position] ?? SlotMask(slots: 0..<model.entities[id.reference.entity].slots.count)
        builder.add(.updated, id.reference, slots)
      }
      for id in changes.refreshed { builder.add(.refreshed, id.reference) }
      for id in changes.deleted { builder.add(.deleted, id.reference) }
      for filled in changes.filled { builder.filled[filled.entity, default: SlotMask()].formUnion(filled.slots) }
      for links in changes.links {
        if relationships[links.relationshipID] != 1 {
          builder.links.addUnlisted(model.relationships[links.relationshipID])
          continue
        }
        for link in links.added { builder.links.add(link, of: links.relationshipID, isAdded: true) }
        for link in links.removed { builder.links.add(link, of: links.relationshipID, isAdded: false) }
      }
      for owner in changes.reordered { builder.links.addOrder(of: owner) }
      builder.links.unlisted.formUnion(changes.unlistedRelationships)
    }
    let token = changeSets.last { $0.historyToken != nil }?.historyToken
    self = builder.changeSet(
      ofStore: store.identifier, in: store.space, token: token, source: last.source, author: last.transactionAuthor,
      context: last.contextName)
  }
}
