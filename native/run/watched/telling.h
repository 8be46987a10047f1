#pragma once

#include "run/watched/polled.h"

// Pairs an entry that has left one name with the one that has come to another.
void FindMoved(std::vector<Difference>* found);

// Tells what readings have found, as somebody would have heard of it who watched while it was done.
void TellAll(Ground* ground, std::vector<Difference>* found);
