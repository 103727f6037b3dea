/// Deletions that edits can win over (``DeletionMark``), of entities with ``SyncModel/Entity/updateWins``.
extension PendingChange {
  /// Returns the deletion of an object that edits can win over.
  ///
  /// - Parameters:
  ///   - state: The state of the record when the object was deleted, including earlier pending saves.
  ///   - references: ``SyncStore/denyingReferences(to:_:except:)``.
  package static func deletion(
    of id: RecordID, entity: EntityID, from state: Record?, references: [DeletionMark.Entry] = []
  ) -> PendingChange {
    let mark = DeletionMark(DeletionMark(seeing: state).entries + references)
    return PendingChange(
      id, entity: entity, nil, ownFields: [Field(.deletion, .deletion(mark), Stamp(.zero, DeviceID(0)), .deletion)])
  }

  /// What a deletion that edits can win over has seen when it was made; nil for other changes.
  package var deletionMark: DeletionMark? {
    guard values == nil, let field = ownFields.first else { return nil }
    return DeletionMark(field.value)
  }

  /// Returns the deletion as a part of the record's state.
  func deletionRecord(_ stamp: Stamp) -> Record {
    guard let mark = deletionMark else { return Record(entity: entity, .deleted(stamp)) }
    // The stamp of the deletion says that it has seen the earlier saves of its device, whatever stamps these get.
    let value = FieldValue.deletion(mark.adding(DeletionMark.Entry(.deletion, stamp)))
    return Record(entity: entity, .live([Field(.deletion, value, stamp, .deletion)]))
  }

  /// Returns the insertion of an object under the record of one that was deleted, such as by undoing the deletion.
  ///
  /// - Parameters:
  ///   - values: All values of the object.
  ///   - state: The state of the record when the object was inserted. It must have a deletion mark.
  ///   - model: The model, which says how attributes are merged.
  ///   - stamp: The stamp that the save got first.
  ///   - revival: The stamp that identifies the reinsertion: it stays with the device that has made the save, as that of an addition of a link
  ///     does. A deletion that knows it knows it also if the save is sent again under another identity.
  package static func reinsertion(
    of id: RecordID, entity: EntityID, _ values: [PropertyID: FieldValue], in state: Record, _ model: SyncModel,
    first stamp: Stamp, revival: Stamp
  ) -> PendingChange {
    // Counters still have what was counted before the deletion.
    var former: [PropertyID: FieldValue] = [:]
    for field in state.fields { former[field.property] = field.rule == .counter ? Counter(field.value).sum : field.value }
    let counted = PendingChange(id, entity: entity, values, replacing: former, rules: model.merging(of: entity), first: stamp)
    let change = counted.versioned(model, replacing: [:], in: state, settled: state, first: stamp)
    return PendingChange(
      id, entity: entity, change.values, rules: change.rules, ownFields: change.ownFields + [Field(.revival, .integer(1), revival)])
  }

  /// Whether the change inserts an object under the record of one that was deleted.
  package var isReinsertion: Bool { ownFields.last?.property == .revival }
}

extension SyncStore {
  /// Returns the references to an object that could deny its deletion, although the device does not show them, when it deletes the object.
  ///
  /// They are of records without objects, such as of those that wait for a destination. The deletion has seen them: it is final also when
  /// they appear.
  ///
  /// - Parameters:
  ///   - settled: ``ZoneState/settledThrough``.
  ///   - changed: The records that the same save changes. What refers to the object in the end is not among them.
  package func denyingReferences(
    to id: RecordID, _ model: SyncModel, after settled: Int64, except changed: (RecordID) throws -> Bool
  ) throws -> [DeletionMark.Entry] {
    var found: [DeletionMark.Entry] = []
    for property in model.denyingReferences.sorted() {
      for referrer in try referrers(of: id, through: property) where try !changed(referrer) {
        let state = try (self.entry(of: referrer)?.state).applying(pendingChanges(of: referrer, after: settled))
        guard let state, !state.isDeleted, let field = state[property], field.value.reference == id else { continue }
        found.append(DeletionMark.Entry(.reference(property, of: referrer), field.stamp))
      }
    }
    return found
  }
}
