"""The places on which experiments run: a plane, a made-up city, people of Geolife."""
