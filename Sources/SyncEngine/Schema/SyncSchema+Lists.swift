package import ObjectModel
package import SyncCore

/// An ordered relationship, whose members have positions in their records, or in the links.
package struct ListRelationship: Sendable {
  package let relationship: CompiledRelationship
  /// The reference to the object that has the list: the inverse relationship of a member, or an end of a link.
  package let reference: PropertyID
  /// The position of its links in ``SyncSchema/links``; nil if the members refer to the object themselves.
  package let links: Int?

  /// The property of a member's record, or of a link, that has the position.
  package var property: PropertyID { .position(through: reference) }
}

/// The list of an object.
struct MemberList: Hashable {
  let owner: RecordID
  /// The position of the relationship in ``SyncSchema/lists``.
  let number: Int
}

extension ListRelationship {
  /// The ordered relationships of a model.
  static func all(of model: CompiledModel, _ entities: [SyncSchema.Entity], _ links: [LinkRelationship]) -> [ListRelationship] {
    model.entities.flatMap { entity in
      entity.relationships.compactMap { relationship -> ListRelationship? in
        guard relationship.sourceEntity == entity.number, relationship.isToMany, relationship.isOrdered, !relationship.isTransient else {
          return nil
        }
        if let inverse = model.inverse(of: relationship), !inverse.isToMany {
          let reference = entities[inverse.sourceEntity].property(inSlot: inverse.index)
          return reference.map { ListRelationship(relationship: relationship, reference: $0.id, links: nil) }
        }
        let position = links.firstIndex { [$0.relationship.id, model.inverse(of: $0.relationship)?.id].contains(relationship.id) }
        return position.map { position in
          // The relationship that links are reported by can be the other one, and their ends can be those of its inverse.
          let isSource = (links[position].relationship.id == relationship.id) != links[position].isReversed
          return ListRelationship(
            relationship: relationship, reference: isSource ? .linkSource : .linkDestination, links: position)
        }
      }
    }
  }
}

extension SyncSchema {
  /// An ordered relationship, by its position in ``lists``, and the reference to the object that has the list.
  typealias Membership = (list: Int, reference: PropertyID)

  /// Returns the ordered relationships in which objects of an entity, or links, are members.
  ///
  /// A link of a relationship that is its own inverse is a member of the lists of both ends.
  func memberships(of entity: EntityID) -> [Membership] { memberships[entity] ?? [] }

  /// Returns the positions in ``lists`` of the relationships of an entity's objects.
  func listNumbers(ofEntity number: Int) -> [Int] {
    lists.indices.filter { model.entities[lists[$0].relationship.sourceEntity].subtree.contains(number) }
  }

  /// Returns the references by which members of a list refer to the object that has it.
  func references(of list: MemberList) -> [PropertyID] {
    let relationship = lists[list.number]
    let isSymmetric = relationship.links.map { links[$0].isSymmetric } ?? false
    return isSymmetric ? [.linkSource, .linkDestination] : [relationship.reference]
  }

  /// Returns the ordered relationships by the entities of their members and the entities of links.
  static func memberships(
    _ lists: [ListRelationship], _ entities: [Entity], _ links: [LinkRelationship]
  ) -> [EntityID: [Membership]] {
    var result: [EntityID: [Membership]] = [:]
    for (number, list) in lists.enumerated() {
      if let position = list.links {
        result[links[position].entity, default: []].append((number, list.reference))
        if links[position].isSymmetric {
          let opposite: PropertyID = list.reference == .linkSource ? .linkDestination : .linkSource
          result[links[position].entity, default: []].append((number, opposite))
        }
      } else {
        for entity in entities where entity.property(list.reference) != nil {
          result[entity.id, default: []].append((number, list.reference))
        }
      }
    }
    return result
  }
}
